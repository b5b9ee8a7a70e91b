import { shared } from '../texts'
import { ApiError } from './api-error'
import { retryAfterOf } from './retry'

const TIMEOUT_MS = 20_000

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export type RequestOptions = {
  headers?: Record<string, string> | undefined
  body?: unknown
  signal?: AbortSignal | undefined
}

/** The root of the service: these pages are in its folder `console/`, perhaps below a prefix of a proxy. */
export const serviceUrl = new URL('..', `${window.location.origin}${window.location.pathname}`).href.replace(
  /\/$/,
  '',
)

/** Sends one request. @throws ApiError */
export async function sendRequest(
  method: Method,
  path: string,
  { headers = {}, body, signal }: RequestOptions = {},
): Promise<Response> {
  const timeout = AbortSignal.timeout(TIMEOUT_MS)
  const init: RequestInit = {
    method,
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    credentials: 'omit',
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  }
  const response = await fetch(serviceUrl + path, init).catch((error: unknown) => {
    if (signal?.aborted === true) throw error
    throw timeout.aborted
      ? new ApiError(0, 'TIMEOUT', shared.failed.timeout)
      : new ApiError(0, 'UNREACHABLE', shared.failed.unreachable)
  })
  if (response.ok) return response
  throw await refusalOf(response)
}

/** The JSON of a response whose shape the service of the same version guarantees. @throws ApiError */
export async function requestJson<T>(method: Method, path: string, options?: RequestOptions): Promise<T> {
  const response = await sendRequest(method, path, options)
  return (await readJson(response, options?.signal)) as T
}

/** @throws ApiError also for a refusal */
export async function readJson(response: Response, signal?: AbortSignal): Promise<unknown> {
  if (!response.ok) throw await refusalOf(response)
  try {
    return await response.json()
  } catch (error) {
    if (signal?.aborted === true) throw error
    throw new ApiError(0, 'MALFORMED', shared.failed.malformed)
  }
}

async function refusalOf(response: Response): Promise<ApiError> {
  const text = await response.text().catch(() => '')
  const { code, message } = parseRefusal(text)
  const requestId = response.headers.get('x-request-id') ?? undefined
  return new ApiError(response.status, code, message || statusText(response.status), requestId, {
    retryAfterMs: retryAfterOf(response.headers.get('retry-after'), Date.now()),
  })
}

function parseRefusal(text: string): { code: string; message: string } {
  try {
    const { code = '', message = '' } = JSON.parse(text) as { code?: string; message?: string }
    return { code, message }
  } catch {
    return { code: 'MALFORMED', message: '' }
  }
}

const statusText = (status: number) =>
  status >= 500 ? shared.failed.unavailable(status) : shared.failed.malformed

/** `path` with those of `query` that have a value. */
export function withQuery(path: string, query: Record<string, string | number | undefined>): string {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`
}
