import { isOfHost, isWithin } from './any-domain'
import { type SignInMessage } from './message'

/** What a sign-in text may be addressed to: what the operator listed, and the gateway's own host. */
export const domainsOf = (listed: readonly string[], publicUrl: string): string[] => [
  ...new Set([...listed, new URL(publicUrl).host]),
]

/**
 * The host of the gateway needs no listing: a client derives it from the URL that it calls, so a gateway cannot have it sign a text
 * for another one. The short text is for listed names only, as wallets do not compare it with the page that asks.
 */
export function problemOfDomain(
  { domain, uri, statedGateway }: Pick<SignInMessage, 'domain' | 'uri' | 'statedGateway'>,
  { listed, publicUrl }: { listed: readonly string[]; publicUrl: string },
): string | undefined {
  if (statedGateway !== undefined && !isWithin(statedGateway, publicUrl))
    return `states another gateway than ${publicUrl}`
  if (listed.includes(domain)) return undefined
  const names = uri === undefined ? listed : domainsOf(listed, publicUrl)
  if (uri === undefined || !isOfHost(publicUrl, domain))
    return `is for another service; sign one for ${names.join(' or ')}`
  return isOfHost(uri, domain) ? undefined : 'URI must be of the same host as the domain'
}
