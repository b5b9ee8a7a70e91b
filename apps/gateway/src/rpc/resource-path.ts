import { ApiError } from '@tollgate/service'
import { LRUCache } from 'lru-cache'

const MAX_DECODINGS = 4

/** Patterns that can leave the base URL, or that some server on the way reads differently. */
const UNSAFE_PATTERNS: readonly [RegExp, string][] = [
  [/^[a-z][a-z0-9+.-]*:/i, 'must not have a scheme'],
  [/\/\//, 'must not hold //'],
  [/\\/, 'must not hold a backslash'],
  [/@/, 'must not hold @'],
  [/#/, 'must not hold #'],
  [/[\s\p{C}]/u, 'must not hold spaces, control characters or what is invisible'],
  // Some servers end a segment at a semicolon.
  [/(^|[/;])\.{1,2}([/;?]|$)/, 'must not hold . or .. as a segment'],
]

/** @throws ApiError INVALID_REQUEST unless `resource` is a path below `baseUrl`, plain or percent-encoded */
export function resolveUrl(baseUrl: string, resource: string): Readonly<URL> {
  if (resource === '') return baseOf(baseUrl)
  assertResourcePath(resource)
  const base = baseOf(baseUrl)
  const prefix = base.pathname.replace(/\/+$/, '')
  const [path = '', ...query] = resource.replace(/^\//, '').split('?')
  const address = new URL(base)
  if (path !== '') address.pathname = `${prefix}/${path}`
  if (query.length > 0)
    address.search = [base.search.slice(1), query.join('?')].filter((part) => part !== '').join('&')
  if (address.origin !== base.origin || !`${address.pathname}/`.startsWith(`${prefix}/`))
    throw invalidResource('must be a path')
  return address
}

const bases = new LRUCache<string, URL>({ max: 1_024, memoMethod: (text) => new URL(text) })
const baseOf = (baseUrl: string): Readonly<URL> => bases.memo(baseUrl)

/** Needs no further check: nothing in it can be read in two ways. */
const PLAIN_PATH = /^\/?(?:[\w-]+\/)*[\w-]*$/

/** @throws ApiError INVALID_REQUEST. What follows the first `?` is a query, which cannot leave the base URL. */
export function assertResourcePath(resource: string) {
  if (PLAIN_PATH.test(resource)) return
  const at = resource.indexOf('?')
  assertPath(at < 0 ? resource : resource.slice(0, at))
  if (at >= 0) assertQuery(resource.slice(at + 1))
}

/** Any octet may be percent-encoded in it, except those that end a line of the request once something on the way decodes it. */
function assertQuery(query: string) {
  if (/[#\p{Cc}\p{Cs}]/u.test(query)) throw invalidResource('must not hold # or control characters')
  if (/%(?![0-9a-f]{2})/i.test(query)) throw invalidResource('has a percent sign that encodes nothing')
  if (/%(?:00|0a|0d)/i.test(query)) throw invalidResource('must not hold line breaks')
}

function assertPath(path: string) {
  let text = path
  for (let decodings = 0; ; decodings++) {
    // Some servers read a full-width dot or slash as a plain one.
    const plain = text.normalize('NFKC')
    for (const variant of [text, plain])
      for (const [pattern, reason] of UNSAFE_PATTERNS)
        if (pattern.test(variant)) throw invalidResource(reason)
    const decoded = decodeOnce(plain)
    if (decoded === plain) return
    if (decodings === MAX_DECODINGS) throw invalidResource('is percent-encoded too many times over')
    text = decoded
  }
}

function decodeOnce(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw invalidResource('has a percent sign that encodes nothing')
  }
}

const invalidResource = (reason: string) =>
  new ApiError('INVALID_REQUEST', `resource: ${reason}; it is a path below the provider’s base URL`)
