import { isPlainHttpToPublicHost, PLAIN_HTTP_REFUSED } from '@tollgate/service'
import { obviousKeysIn } from './obvious-key'
import { isReference, referencesIn, withSecrets, type Reference } from './secret-references'
import { ResolvedUrl } from './upstream-url'

/** `text`: as the catalog has it. `url`: with its secrets, so it is never shown. */
export type Upstream = { text: string; url: string }

/** What a provider is reached by. `secrets`: texts that no answer may show. */
export type Access = { rpc: Upstream[]; rest: Upstream[]; headers: Record<string, string>; secrets: string[] }

export type CatalogAccess = {
  rpc: readonly string[]
  rest: readonly string[]
  headers: Record<string, string>
}

export const referencesOf = ({ rpc, rest, headers }: CatalogAccess): Reference[] => [
  ...new Set([...rpc, ...rest, ...Object.values(headers)].flatMap(referencesIn)),
]

/** Shorter texts stand in answers by chance. */
const MIN_SECRET_LENGTH = 8

/**
 * Puts the secrets into the URLs and headers of a provider. `problem`: why it cannot be reached, without any value.
 * `isProduction`: refuses nodes by `http://` on public hosts.
 */
export function resolveAccess(
  { rpc, rest, headers }: CatalogAccess,
  valueOf: (reference: Reference) => string,
  { isProduction = false } = {},
): { access: Access } | { problem: string } {
  const upstream = (text: string): Upstream => ({ text, url: withSecrets(text, valueOf) })
  const access = {
    rpc: rpc.map(upstream),
    rest: rest.map(upstream),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, withSecrets(value, valueOf)]),
    ),
  }
  for (const transport of ['rpc', 'rest'] as const)
    for (const [index, { text, url }] of access[transport].entries()) {
      if (referencesIn(text).length === 0) continue
      const [issue] = ResolvedUrl.safeParse(url).error?.issues ?? []
      const reason =
        issue?.message ??
        (isProduction && isPlainHttpToPublicHost(url) ? `is ${PLAIN_HTTP_REFUSED}` : undefined)
      if (reason !== undefined) return { problem: `${transport}.${index} with its secrets ${reason}` }
    }
  return {
    access: { ...access, secrets: secretsIn(access, referencesOf({ rpc, rest, headers }).map(valueOf)) },
  }
}

/** The longest first, so that none leaves a part of another. */
function secretsIn({ rpc, rest }: Pick<Access, 'rpc' | 'rest'>, values: readonly string[]): string[] {
  const inUrls = [...rpc, ...rest].flatMap(({ text, url }) => [
    ...(isReference(text) ? partsOf(url) : []),
    ...obviousKeysIn(url),
  ])
  const all = new Set([...values, ...inUrls].filter(({ length }) => length >= MIN_SECRET_LENGTH))
  return [...all].toSorted((one, other) => other.length - one.length)
}

/** A shorter path is a word, such as `/ethereum`, which answers have too. */
const MIN_PATH_LENGTH = 20

/** A server that shows a whole secret URL shows its path. */
function partsOf(url: string): string[] {
  const { pathname, search } = new URL(url)
  return [pathname.replace(/\/+$/, ''), search.slice(1)].filter(({ length }) => length >= MIN_PATH_LENGTH)
}
