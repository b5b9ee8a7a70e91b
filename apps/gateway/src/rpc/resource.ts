import { ApiError } from '@tollgate/service'

const MAX_DECODINGS = 4

/** What could lead out of the base URL, or be read as something else on the way, by whatever server takes it. */
const unsafe: readonly [RegExp, string][] = [
  [/^[a-z][a-z0-9+.-]*:/i, 'must not have a scheme'],
  [/\/\//, 'must not hold //'],
  [/\\/, 'must not hold a backslash'],
  [/@/, 'must not hold @'],
  [/#/, 'must not hold #'],
  [/[\s\p{C}]/u, 'must not hold spaces, control characters or what is invisible'],
  // Some servers end a segment at a semicolon.
  [/(^|[/;])\.{1,2}([/;?]|$)/, 'must not hold . or .. as a segment'],
]

/**
 * The address of `resource` below `baseUrl`. What is no path below it, plainly or under percent-encoding, is refused.
 *
 * @throws ApiError INVALID_REQUEST
 */
export function addressBelow(baseUrl: string, resource: string): URL {
  checkResource(resource)
  const base = new URL(baseUrl)
  const prefix = base.pathname.replace(/\/+$/, '')
  const [path = '', ...query] = resource.replace(/^\//, '').split('?')
  const address = new URL(base)
  if (path !== '') address.pathname = `${prefix}/${path}`
  if (query.length > 0)
    address.search = [base.search.slice(1), query.join('?')].filter((part) => part !== '').join('&')
  if (address.origin !== base.origin || !`${address.pathname}/`.startsWith(`${prefix}/`))
    throw refused('must be a path')
  return address
}

/** @throws ApiError INVALID_REQUEST */
export function checkResource(resource: string) {
  let text = resource
  for (let decodings = 0; ; decodings++) {
    // Some servers take a full-width dot or slash for a plain one.
    const plain = text.normalize('NFKC')
    for (const seen of [text, plain])
      for (const [pattern, problem] of unsafe) if (pattern.test(seen)) throw refused(problem)
    const decoded = decodeOnce(plain)
    if (decoded === plain) return
    if (decodings === MAX_DECODINGS) throw refused('is percent-encoded too many times over')
    text = decoded
  }
}

function decodeOnce(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw refused('has a percent sign that encodes nothing')
  }
}

const refused = (problem: string) =>
  new ApiError('INVALID_REQUEST', `resource: ${problem}; it is a path below the provider’s base URL`)
