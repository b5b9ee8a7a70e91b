import { type LookupAddress, lookup } from 'node:dns'
import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { promisify } from 'node:util'
import { z } from 'zod'
import { isLoopbackAddress, isPublicAddress } from './public-address'

const PATH = '/.well-known/x402'
const TIMEOUT_MS = 5_000
const MAX_BYTES = 65_536
const MAX_HEADER_BYTES = 16_384

const Registrants = z.object({ registrants: z.array(z.string().max(64)).max(100) })

/** `not_listed`: the origin responded without naming the owner. `unreachable`: ownership is unknown. */
export type OwnershipResult = 'verified' | 'not_listed' | 'unreachable'

export type Resolve = (hostname: string) => Promise<LookupAddress[]>

type Options = {
  /** Requires https and public addresses. Otherwise http and this machine are also allowed. */
  isProduction: boolean
  signal: AbortSignal
  resolve?: Resolve
}

const lookupAll = promisify(lookup)
const resolveBySystem: Resolve = (hostname) => lookupAll(hostname, { all: true })

/**
 * Whether the origin's `/.well-known/x402` names the owner in `registrants`. Prevents SSRF: the name is
 * resolved once, each address must be allowed, and the connection uses these addresses. Redirects are not
 * followed.
 */
export async function checkOwnership(
  origin: string,
  owner: string,
  options: Options,
): Promise<OwnershipResult> {
  const answer = await read(new URL(PATH, origin), options).catch(() => undefined)
  if (!answer || answer.status >= 500 || answer.status === 429) return 'unreachable'
  return answer.status === 200 && registrantsIn(answer.text).includes(owner) ? 'verified' : 'not_listed'
}

function registrantsIn(text: string): string[] {
  try {
    return Registrants.parse(JSON.parse(text)).registrants
  } catch {
    return []
  }
}

type DocumentAnswer = { status: number; text: string }

function read(
  url: URL,
  { isProduction, signal, resolve = resolveBySystem }: Options,
): Promise<DocumentAnswer> {
  const isAllowed = (address: string) =>
    isLoopbackAddress(address) ? !isProduction : url.protocol === 'https:' && isPublicAddress(address)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 && !isAllowed(host)) return Promise.reject(new Error('The address is not allowed'))

  const client = url.protocol === 'https:' ? https : http
  const ending = new AbortController()
  const end = () => ending.abort()
  if (signal.aborted) end()
  signal.addEventListener('abort', end, { once: true })
  const timer = setTimeout(end, TIMEOUT_MS)
  const answered = new Promise<DocumentAnswer>((settle, reject) => {
    const request = client.get(
      url,
      {
        agent: false,
        lookup: lookupAmong(resolve, isAllowed),
        signal: ending.signal,
        maxHeaderSize: MAX_HEADER_BYTES,
        headers: { accept: 'application/json', 'accept-encoding': 'identity', 'user-agent': 'tollgate' },
      },
      (response) => {
        const parts: Buffer[] = []
        let length = 0
        response.on('data', (part: Buffer) => {
          length += part.length
          if (length > MAX_BYTES) request.destroy(new Error('The document is too long'))
          else parts.push(part)
        })
        response.once('error', reject)
        response.once('end', () => {
          settle({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() })
        })
      },
    )
    request.on('error', reject)
    // A connection that switches protocols (101) is closed without an error or a response.
    request.once('close', () => reject(new Error('The connection was closed before an answer')))
  })
  return answered.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', end)
  })
}

/** A `lookup` for sockets that rejects unless all addresses are allowed. */
const lookupAmong =
  (resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (!first || !addresses.every(({ address }) => isAllowed(address)))
          callback(new Error('The address is not allowed'), '')
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      (error: unknown) => callback(error instanceof Error ? error : new Error(String(error)), ''),
    )
  }
