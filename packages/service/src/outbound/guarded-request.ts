import http from 'node:http'
import https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { isNativeError } from 'node:util/types'
import { isLoopbackAddress, isPublicAddress } from './public-address'
import { resolveByDns, type Resolve } from './resolve'

const MAX_HEADER_BYTES = 16_384

export type GuardedRequestOptions = {
  /** Requires https and public addresses. Otherwise http and this machine are also allowed. */
  isProduction: boolean
  /** For everything from the look-up of the name to the end of the response. */
  timeoutMs: number
  maxBytes: number
  signal: AbortSignal
  headers: Readonly<Record<string, string>>
  /** Sent with POST. */
  body?: string
  resolve?: Resolve
}

/** `isCut`: the rest of the body was too long, or did not arrive. */
export type GuardedResponse = { status: number; text: string; isCut: boolean }

/** The host has no address that may be called: no connection was made. Does not tell whether it has others, which may be internal. */
export class AddressNotAllowed extends Error {
  override readonly name = 'AddressNotAllowed'

  constructor() {
    super('The host has no address that is allowed')
  }
}

export class RequestTimeout extends Error {
  override readonly name = 'RequestTimeout'

  constructor() {
    super('No answer in time')
  }
}

/**
 * A request to a URL that a user gave. Prevents SSRF: the name is resolved once, each address must be allowed, and the connection
 * uses these addresses, on a connection of its own and through no proxy. Redirects are not followed.
 *
 * @throws if no status arrived: AddressNotAllowed, RequestTimeout, the reason of `signal`, or the error of the connection
 */
export async function guardedRequest(
  url: URL,
  { isProduction, timeoutMs, maxBytes, signal, headers, body, resolve = resolveByDns }: GuardedRequestOptions,
): Promise<GuardedResponse> {
  const isAllowed = (address: string) => isAllowedAddress(url, address, isProduction)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 && !isAllowed(host)) throw new AddressNotAllowed()

  const ending = new AbortController()
  const stop = () => ending.abort(signal.reason)
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const timer = setTimeout(() => ending.abort(new RequestTimeout()), timeoutMs)
  const answered = new Promise<GuardedResponse>((settle, reject) => {
    const parts: Buffer[] = []
    let length = 0
    let status: number | undefined
    const end = (isCut: boolean, reason?: unknown) => {
      if (status !== undefined) settle({ status, text: Buffer.concat(parts).toString(), isCut })
      else reject(ending.signal.aborted ? asError(ending.signal.reason) : asError(reason))
    }
    const request = (url.protocol === 'https:' ? https : http).request(
      url,
      {
        method: body === undefined ? 'GET' : 'POST',
        agent: false,
        lookup: lookupAmong(resolve, isAllowed),
        signal: ending.signal,
        maxHeaderSize: MAX_HEADER_BYTES,
        headers,
      },
      (response) => {
        status = response.statusCode ?? 0
        response.on('data', (part: Buffer) => {
          length += part.length
          if (length <= maxBytes) return void parts.push(part)
          end(true)
          request.destroy()
        })
        response.once('error', (error) => end(true, error))
        response.once('end', () => end(false))
      },
    )
    request.on('error', (error) => end(true, error))
    // A connection that switches protocols (101) is closed without an error or a response.
    request.once('close', () => end(true, new Error('The connection was closed before an answer')))
    request.end(body)
  })
  return answered.finally(() => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  })
}

/** Also false for a public address by http. */
export const isAllowedAddress = (url: URL, address: string, isProduction: boolean): boolean =>
  isLoopbackAddress(address) ? !isProduction : url.protocol === 'https:' && isPublicAddress(address)

/** A `lookup` for sockets that rejects unless all addresses are allowed. */
const lookupAmong =
  (resolve: Resolve, isAllowed: (address: string) => boolean): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (!first || !addresses.every(({ address }) => isAllowed(address)))
          callback(new AddressNotAllowed(), '')
        else if (options.all) callback(null, addresses)
        else callback(null, first.address, first.family)
      },
      () => callback(new AddressNotAllowed(), ''),
    )
  }

const asError = (reason: unknown): Error => (isNativeError(reason) ? reason : new Error(String(reason)))
