import { isAxiosError, type AxiosResponse } from 'axios'
import { FacilitatorError } from './errors'

export type Failure = {
  error: FacilitatorError
  /** No connection was made, so no byte of the request was sent. */
  notSent: boolean
  /** A retry may succeed: the connection failed or broke, or the response was 429 or 503. */
  isTransient: boolean
}

/** System calls before the first byte of a request. */
const connectSyscalls = ['connect', 'getaddrinfo']
const brokenConnection = ['ECONNRESET', 'EPIPE', 'ETIMEDOUT']
const transientStatuses = [429, 503]

/** Drops the original error: the headers of an axios error contain our client key. */
export function failureOf(thrown: unknown): Failure {
  if (!isAxiosError(thrown))
    return final(new FacilitatorError('unknown', 'The request to the facilitator failed'))
  if (thrown.response) return responseFailure(thrown.response)
  const reason = thrown.code ?? 'no reason given'
  const notSent = isConnectError(thrown.cause)
  return {
    error: new FacilitatorError('unknown', `The facilitator could not be reached (${reason})`),
    notSent,
    isTransient: notSent || brokenConnection.includes(reason),
  }
}

export const final = (error: FacilitatorError): Failure => ({ error, notSent: false, isTransient: false })

/** A host with several addresses fails with an error for each. */
function isConnectError(cause: unknown): boolean {
  if (typeof cause !== 'object' || cause === null) return false
  if ('errors' in cause && Array.isArray(cause.errors) && cause.errors.length > 0)
    return cause.errors.every(isConnectError)
  return 'syscall' in cause && connectSyscalls.includes(String(cause.syscall))
}

function responseFailure({ status, data, headers }: AxiosResponse<unknown>): Failure {
  const code = codeIn(data)
  const message = `The facilitator answered ${status}${code === undefined ? '' : ` ${code}`}`
  const retryAfterSeconds = secondsIn(headers['retry-after'])
  const error = new FacilitatorError(kindOf(status, code), message, status, code, retryAfterSeconds)
  return { error, notSent: false, isTransient: transientStatuses.includes(status) }
}

function kindOf(status: number, code: string | undefined): FacilitatorError['kind'] {
  if (status === 401 || status === 403) return 'unauthorized'
  return status === 400 && (code === 'INVALID_REQUEST' || code === 'INVALID_PAYLOAD') ? 'rejected' : 'unknown'
}

function codeIn(body: unknown): string | undefined {
  const code: unknown = typeof body === 'object' && body !== null && 'code' in body ? body.code : undefined
  return typeof code === 'string' && /^[A-Z_]{1,64}$/.test(code) ? code : undefined
}

/** `Retry-After` in either of its forms (RFC 9110, 10.2.3). */
function secondsIn(header: unknown): number | undefined {
  if (typeof header !== 'string') return undefined
  if (/^\d{1,9}$/.test(header)) return Number(header)
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - Date.now()) / 1000))
}
