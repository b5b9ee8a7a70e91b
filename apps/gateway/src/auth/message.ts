/** What a sign-in text says: the short form of the gateway, or EIP-4361. Times are as written, already valid. */
export type SignInMessage = {
  /** The service name of the short form, the domain of EIP-4361. */
  domain: string
  address: string
  nonce: string
  issuedAt: Date
  expiresAt?: Date
  notBefore?: Date
}

const timestamp = String.raw`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})`
const nonce = String.raw`(?<nonce>[A-Za-z0-9]{8,64})`

/** One Address, one Nonce, in this order, and nothing after the end. */
const shortForm = new RegExp(
  String.raw`^(?<domain>[^\n\r]{1,128}) wants you to sign in\.\n\nAddress: (?<address>[A-Za-z0-9]{1,128})\nNonce: ${nonce}\nIssued At: (?<issuedAt>${timestamp})$`,
)

/** A line of EIP-4361 that could be taken for one of its fields by whoever reads the message, or for two lines, is none. */
const statement = String.raw`(?!(?:Address|URI|Version|Chain ID|Nonce|Issued At|Expiration Time|Not Before|Request ID|Resources):)[^\p{Cc}\p{Zl}\p{Zp}]{1,1024}`

/** EIP-4361 (https://eips.ethereum.org/EIPS/eip-4361#abnf-message-format). A statement is one line; resources are passed over. */
const eip4361 = new RegExp(
  [
    String.raw`^(?:[a-z][a-z0-9+.-]*://)?(?<domain>[^\s/?#@]{1,128}) wants you to sign in with your Ethereum account:`,
    String.raw`(?<address>0x[0-9a-fA-F]{40})`,
    String.raw`(?:\n${statement}\n|\n?)`,
    String.raw`URI: [a-z][a-z0-9+.-]*:[^\s]{1,1024}`,
    'Version: 1',
    String.raw`Chain ID: [1-9][0-9]{0,19}`,
    `Nonce: ${nonce}`,
    `Issued At: (?<issuedAt>${timestamp})` +
      `(?:\\nExpiration Time: (?<expiresAt>${timestamp}))?` +
      `(?:\\nNot Before: (?<notBefore>${timestamp}))?` +
      String.raw`(?:\nRequest ID: [^\s]{0,256})?(?:\nResources:(?:\n- [^\s]{1,1024}){0,32})?$`,
  ].join('\n'),
  'u',
)

/** Reads either form to the letter; undefined where `text` is neither. */
export function readMessage(text: string): SignInMessage | undefined {
  const found = (shortForm.exec(text) ?? eip4361.exec(text))?.groups
  if (!found) return undefined
  const { domain = '', address = '', nonce: value = '', issuedAt, expiresAt, notBefore } = found
  const message: SignInMessage = { domain, address, nonce: value, issuedAt: new Date(issuedAt ?? '') }
  if (expiresAt !== undefined) message.expiresAt = new Date(expiresAt)
  if (notBefore !== undefined) message.notBefore = new Date(notBefore)
  const times = [message.issuedAt, message.expiresAt, message.notBefore]
  return times.some((time) => time !== undefined && Number.isNaN(time.getTime())) ? undefined : message
}
