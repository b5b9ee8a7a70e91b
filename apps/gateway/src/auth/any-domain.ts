import { type SignInMessage } from './message'

/**
 * With `SIGN_IN_DOMAINS=*` a page may ask for a sign-in in its own domain's name, never in another's, and only with a text that names
 * this gateway, so that the wallet shows both: who asks, and whose credits the session spends. See docs/threats.md.
 */
export function problemOfAnyDomain(
  { domain, uri, resources = [] }: SignInMessage,
  { publicUrl, origin }: { publicUrl: string; origin: string | undefined },
): string | undefined {
  if (uri === undefined)
    return 'must be an EIP-4361 or CAIP-122 message; wallets compare its domain with the page that asks'
  if (!isOfHost(uri, domain)) return 'URI must be of the same host as the domain'
  if (origin !== undefined && !isOfHost(origin, domain))
    return 'the domain must be the host of the page that sends it'
  if (!isOfHost(publicUrl, domain) && !resources.some((resource) => isWithin(resource, publicUrl)))
    return `must name this gateway: add ${publicUrl} to its Resources`
  return undefined
}

const PLAIN_DOMAIN = /^[A-Za-z0-9.-]+(?::[0-9]+)?$|^\[[0-9A-Fa-f:.]+\](?::[0-9]+)?$/

/** Whether the address is http or https and its host, with the port unless it is the default one, is the domain of a message. */
export function isOfHost(address: string, domain: string): boolean {
  if (!PLAIN_DOMAIN.test(domain) || !URL.canParse(address)) return false
  const { protocol, username, password, host } = new URL(address)
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') return false
  const named = `${protocol}//${domain}`
  return URL.canParse(named) && new URL(named).host === host
}

export const isWithin = (resource: string, base: string) =>
  resource === base || resource.startsWith(`${base}/`)
