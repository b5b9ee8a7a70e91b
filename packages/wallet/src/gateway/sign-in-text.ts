import { type Ecosystem } from '../wallets/wallet.js'

export type SignInFields = {
  ecosystem: Ecosystem
  address: string
  chainId: string
  nonce: string
  /** ISO 8601. */
  issuedAt: string
}

/** Whom the text is for: a domain of EIP-4361 with its address, or the name of a service in the gateway's short text. */
export type Audience = { domain: string; uri: string } | { name: string }

/**
 * Of the domains that the gateway takes, the page's own, which browser wallets compare with the page; else the gateway's. Either way
 * the text states the URL that the app gave, and gateways refuse the statement of another one: none can have a text signed for
 * another. The short text is bound to its name alone.
 */
export function audienceOf(
  gatewayUrl: string,
  { page, accepted, name }: { page: URL | undefined; accepted: readonly string[]; name: string | undefined },
): Audience {
  if (name !== undefined) return { name }
  if (page && (accepted.includes(page.host) || accepted.includes('*')))
    return { domain: page.host, uri: page.origin }
  return { domain: new URL(gatewayUrl).host, uri: gatewayUrl }
}

const accountWords = { evm: 'Ethereum', cosmos: 'Cosmos' }

/** EIP-4361, its CAIP-122 form for Cosmos accounts, or the gateway's short text. */
export function signInText(gatewayUrl: string, audience: Audience, fields: SignInFields): string {
  const { ecosystem, address, chainId, nonce, issuedAt } = fields
  if ('name' in audience)
    return `${audience.name} wants you to sign in.\n\nAddress: ${address}\nNonce: ${nonce}\nIssued At: ${issuedAt}`
  return [
    `${audience.domain} wants you to sign in with your ${accountWords[ecosystem]} account:`,
    address,
    '',
    `Sign in to spend your credits at ${gatewayUrl}.`,
    '',
    `URI: ${audience.uri}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${issuedAt}`,
    'Resources:',
    `- ${gatewayUrl}`,
  ].join('\n')
}
