/** An EIP-4361 message as wallets show it. Times as ISO 8601. */
export const eip4361Text = (parts: {
  address: string
  nonce: string
  issuedAt: string
  domain?: string
  statement?: string
  expirationTime?: string
  notBefore?: string
  chainId?: string
}) =>
  [
    `${parts.domain ?? 'gateway.example'} wants you to sign in with your Ethereum account:`,
    parts.address,
    '',
    ...(parts.statement === undefined ? [] : [parts.statement, '']),
    'URI: https://gateway.example/login',
    'Version: 1',
    `Chain ID: ${parts.chainId ?? '84532'}`,
    `Nonce: ${parts.nonce}`,
    `Issued At: ${parts.issuedAt}`,
    ...(parts.expirationTime === undefined ? [] : [`Expiration Time: ${parts.expirationTime}`]),
    ...(parts.notBefore === undefined ? [] : [`Not Before: ${parts.notBefore}`]),
  ].join('\n')
