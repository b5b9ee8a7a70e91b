/** An EIP-4361 message, or its form for other accounts. Times in ISO 8601. */
export const eip4361Text = (parts: {
  address: string
  nonce: string
  issuedAt: string
  account?: string
  domain?: string
  statement?: string
  expirationTime?: string
  notBefore?: string
  chainId?: string
  isChainLast?: boolean
  uri?: string
  resources?: string[]
}) => {
  const chain = `Chain ID: ${parts.chainId ?? '84532'}`
  return [
    `${parts.domain ?? 'gateway.example'} wants you to sign in with your ${parts.account ?? 'Ethereum'} account:`,
    parts.address,
    '',
    ...(parts.statement === undefined ? [] : [parts.statement, '']),
    `URI: ${parts.uri ?? 'https://gateway.example/login'}`,
    'Version: 1',
    ...(parts.isChainLast ? [] : [chain]),
    `Nonce: ${parts.nonce}`,
    `Issued At: ${parts.issuedAt}`,
    ...(parts.expirationTime === undefined ? [] : [`Expiration Time: ${parts.expirationTime}`]),
    ...(parts.notBefore === undefined ? [] : [`Not Before: ${parts.notBefore}`]),
    ...(parts.isChainLast ? [chain] : []),
    ...(parts.resources === undefined
      ? []
      : ['Resources:', ...parts.resources.map((resource) => `- ${resource}`)]),
  ].join('\n')
}
