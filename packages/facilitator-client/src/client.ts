import {
  type Asset,
  AssetList,
  SettleResult,
  SupportedKinds,
  VerifyResult,
  type NetworkKind,
  type SettleRequest,
  type VerifyRequest,
} from '@tollgate/protocol'
import axios, { isAxiosError } from 'axios'
import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { FacilitatorError } from './errors'

/** What a resource server asks of a facilitator. Each call rejects with `FacilitatorError`. */
export type Facilitator = {
  verify(request: VerifyRequest): Promise<VerifyResult>
  /**
   * Settles at most once per payment. The same request under the same `idempotencyKey` (visible ASCII, at most 128
   * characters) gets the first one's result again: so a caller that lost the answer asks again and is not charged twice.
   */
  settle(request: SettleRequest, options: { idempotencyKey: string }): Promise<SettleResult>
  supported(): Promise<NetworkKind[]>
  assets(): Promise<Asset[]>
}

export type FacilitatorClientOptions = {
  /** The facilitator's API address, `https://host/api/v1`. */
  url: string
  clientId: string
  clientToken: string
  /** Bounds every call but `settle`, which waits for a chain. */
  timeoutMs?: number
  settleTimeoutMs?: number
}

const MAX_ANSWER_BYTES = 1_048_576

/** The facilitator over HTTP, with one client key. No call is retried here: only the caller knows what may be repeated. */
export function createFacilitatorClient(options: FacilitatorClientOptions): Facilitator & { close(): void } {
  const { url, clientId, clientToken, timeoutMs = 5_000, settleTimeoutMs = 45_000 } = options
  const httpAgent = new HttpAgent({ keepAlive: true })
  const httpsAgent = new HttpsAgent({ keepAlive: true })
  const http = axios.create({
    baseURL: url,
    headers: clientHeaders(clientId, clientToken),
    timeout: timeoutMs,
    maxRedirects: 0,
    maxContentLength: MAX_ANSWER_BYTES,
    proxy: false,
    httpAgent,
    httpsAgent,
  })

  return {
    verify: async (request) => read(VerifyResult, () => http.post('/verify', request)),
    settle: async (request, { idempotencyKey }) =>
      read(SettleResult, () =>
        http.post('/settle', request, {
          headers: { 'Idempotency-Key': idempotencyKey },
          timeout: settleTimeoutMs,
          signal: AbortSignal.timeout(settleTimeoutMs),
        }),
      ),
    supported: async () => (await read(SupportedKinds, () => http.get('/supported'))).kinds,
    assets: async () => (await read(AssetList, () => http.get('/assets'))).data,
    close() {
      httpAgent.destroy()
      httpsAgent.destroy()
    },
  }
}

/** The client key in the form that the public x402 middleware takes (`createAuthHeaders` of `x402-express`). */
export function createAuthHeaders(clientId: string, clientToken: string) {
  const headers = clientHeaders(clientId, clientToken)
  return () => Promise.resolve({ verify: headers, settle: headers, supported: headers })
}

const clientHeaders = (clientId: string, clientToken: string) => ({
  'X-Client-ID': clientId,
  'X-Client-Token': clientToken,
})

type Schema<T> = { safeParse(input: unknown): { success: true; data: T } | { success: false } }

/** The answer as its schema has it. An axios error holds our key in its headers, so none is let out of here. */
async function read<T>(schema: Schema<T>, ask: () => Promise<{ data: unknown }>): Promise<T> {
  let data: unknown
  try {
    data = (await ask()).data
  } catch (error) {
    throw refusal(error)
  }
  const parsed = schema.safeParse(data)
  if (!parsed.success)
    throw new FacilitatorError('unknown', 'The facilitator gave an answer that is none of the x402 protocol')
  return parsed.data
}

function refusal(error: unknown): FacilitatorError {
  if (!isAxiosError(error)) return new FacilitatorError('unknown', 'The facilitator could not be asked')
  const status = error.response?.status
  if (status === undefined)
    return new FacilitatorError(
      'unknown',
      `The facilitator could not be reached (${error.code ?? 'no reason given'})`,
    )
  const body: unknown = error.response?.data
  const code = typeof body === 'object' && body !== null && 'code' in body ? String(body.code) : undefined
  const rejected = status === 400 && (code === 'INVALID_REQUEST' || code === 'INVALID_PAYLOAD')
  const message = `The facilitator answered ${status}${code === undefined ? '' : ` ${code}`}`
  return new FacilitatorError(rejected ? 'rejected' : 'unknown', message, status, code)
}
