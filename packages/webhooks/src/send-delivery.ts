import { AddressNotAllowed, guardedRequest, RequestTimeout, type Resolve } from '@tollgate/service'
import { type AttemptResult, type ClaimedDelivery } from './delivery-store'
import { signedHeaders } from './signed-headers'

const ATTEMPT_TIMEOUT_MS = 10_000
/** Owners that never paid get less: their endpoints cost nothing, and each may hold its attempts for so long. */
const UNPAID_TIMEOUT_MS = 3_000
const MAX_RESPONSE_BYTES = 16_384

export type SendOptions = {
  isProduction: boolean
  signal: AbortSignal
  now: () => Date
  resolve?: Resolve
}

/** Rejects only if `signal` is aborted. */
export async function sendDelivery(
  delivery: ClaimedDelivery,
  { now, signal, ...options }: SendOptions,
): Promise<AttemptResult> {
  const body = bodyOf(delivery)
  const timeoutMs = delivery.hasPaid ? ATTEMPT_TIMEOUT_MS : UNPAID_TIMEOUT_MS
  try {
    const signed = signedHeaders({ id: delivery.messageId, at: now(), body }, delivery.secrets)
    const { status } = await guardedRequest(new URL(delivery.url), {
      ...options,
      signal,
      timeoutMs,
      maxBytes: MAX_RESPONSE_BYTES,
      headers: {
        ...signed,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        'user-agent': 'tollgate',
      },
      body,
    })
    return { status, error: problemOf(status) }
  } catch (error) {
    signal.throwIfAborted()
    return { status: null, error: reasonOf(error, timeoutMs) }
  }
}

/** The same bytes in every attempt. */
const bodyOf = ({ type, createdAt, data }: Pick<ClaimedDelivery, 'type' | 'createdAt' | 'data'>) =>
  `{"type":${JSON.stringify(type)},"timestamp":${JSON.stringify(createdAt.toISOString())},"data":${data}}`

function problemOf(status: number): string | null {
  if (status >= 200 && status < 300) return null
  return status >= 300 && status < 400
    ? `status ${status}: redirects are not followed`
    : `status ${status} is not 2xx`
}

/** Names neither the host nor its addresses. A name of an internal network and one that does not exist look alike. */
function reasonOf(error: unknown, timeoutMs: number): string {
  if (error instanceof AddressNotAllowed)
    return 'the host has no address that is allowed: only public addresses, by https'
  if (error instanceof RequestTimeout) return `no answer within ${timeoutMs / 1000} s`
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? `the request failed (${code})` : 'the request failed'
}
