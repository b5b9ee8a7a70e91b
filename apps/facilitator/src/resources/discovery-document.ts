import { guardedRequest, type Resolve } from '@tollgate/service'
import { z } from 'zod'

const PATH = '/.well-known/x402'
const TIMEOUT_MS = 5_000
const MAX_BYTES = 65_536
const HEADERS = { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'tollgate' }

const Registrants = z.object({ registrants: z.array(z.string().max(64)).max(100) })

/** `not_listed`: the origin responded without naming the owner. `unreachable`: ownership is unknown. */
export type OwnershipResult = 'verified' | 'not_listed' | 'unreachable'

type Options = {
  /** Requires https and public addresses. Otherwise http and this machine are also allowed. */
  isProduction: boolean
  signal: AbortSignal
  resolve?: Resolve
}

/** Whether the origin's `/.well-known/x402` names the owner in `registrants`. Redirects are not followed. */
export async function checkOwnership(
  origin: string,
  owner: string,
  options: Options,
): Promise<OwnershipResult> {
  const request = { ...options, timeoutMs: TIMEOUT_MS, maxBytes: MAX_BYTES, headers: HEADERS }
  const answer = await guardedRequest(new URL(PATH, origin), request).catch(() => undefined)
  if (!answer || answer.isCut || answer.status >= 500 || answer.status === 429) return 'unreachable'
  return answer.status === 200 && registrantsIn(answer.text).includes(owner) ? 'verified' : 'not_listed'
}

function registrantsIn(text: string): string[] {
  try {
    return Registrants.parse(JSON.parse(text)).registrants
  } catch {
    return []
  }
}
