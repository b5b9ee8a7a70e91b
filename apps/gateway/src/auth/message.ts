/** What a sign-in text says: the short form of the gateway, EIP-4361 or CAIP-122. Times are as written, already valid. */
export type SignInMessage = {
  /** The service name of the short form, the domain of the others. */
  domain: string
  address: string
  nonce: string
  /** Not in the short form: the chain that the wallet signs in for, as the chain itself spells its id. */
  chainId?: string
  issuedAt: Date
  expiresAt?: Date
  notBefore?: Date
}

const timestamp = String.raw`\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})`
const nonce = String.raw`(?<nonce>[A-Za-z0-9]{8,64})`

/**
 * One Address, one Nonce, in this order, and nothing after the end. The service's name may be in any script, but holds
 * nothing that a screen does not show.
 */
const shortForm = new RegExp(
  String.raw`^(?<domain>[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,128}) wants you to sign in\.\n\nAddress: (?<address>[A-Za-z0-9]{1,128})\nNonce: ${nonce}\nIssued At: (?<issuedAt>${timestamp})$`,
  'u',
)

/** The account that a text speaks of: the word for it, and how its address and its chain are spelled. */
type Account = { word: string; address: string; chainId: string }

const ethereum: Account = {
  word: 'Ethereum',
  address: '0x[0-9a-fA-F]{40}',
  chainId: '(?<chainId>[1-9][0-9]{0,19})',
}

/** The address of a key (20 bytes) in bech32, as wallets write it; the chain by its own id, or by CAIP-2. */
const cosmos: Account = {
  word: 'Cosmos',
  address: '[a-z][a-z0-9]{0,50}1[02-9ac-hj-np-z]{38}',
  chainId: '(?:cosmos:)?(?<chainId>[A-Za-z0-9][A-Za-z0-9._-]{0,49})',
}

/**
 * A text of many lines, ASCII throughout, so that what a wallet shows is what is read. A statement is one line; request id
 * and resources are passed over. The Chain ID stands before the Nonce, or last of all fields.
 */
function longForm({ word, address, chainId }: Account, chainIdIs: 'before the nonce' | 'last') {
  const chain = String.raw`\nChain ID: ${chainId}`
  const [before, after] = chainIdIs === 'last' ? ['', chain] : [chain, '']
  return new RegExp(
    [
      String.raw`^(?:[a-z][a-z0-9+.-]*://)?(?<domain>(?![^ ]*[/?#@])[!-~]{1,128}) wants you to sign in with your ${word} account:`,
      `(?<address>${address})`,
      String.raw`(?:\n(?<statement>[ -~]{1,1024})\n|\n?)`,
      String.raw`URI: [a-z][a-z0-9+.-]*:[!-~]{1,1024}`,
      `Version: 1${before}`,
      `Nonce: ${nonce}`,
      `Issued At: (?<issuedAt>${timestamp})` +
        `(?:\\nExpiration Time: (?<expiresAt>${timestamp}))?` +
        `(?:\\nNot Before: (?<notBefore>${timestamp}))?` +
        String.raw`(?:\nRequest ID: [!-~]{0,256})?${after}(?:\nResources:(?:\n- [!-~]{1,1024}){0,32})?$`,
    ].join('\n'),
  )
}

/**
 * EIP-4361 (https://eips.ethereum.org/EIPS/eip-4361#abnf-message-format) for Ethereum. For Cosmos the same text, as libraries
 * write it, and the example of CAIP-122 (https://chainagnostic.org/CAIPs/caip-122#examples), whose Chain ID comes later.
 */
const forms = [
  shortForm,
  longForm(ethereum, 'before the nonce'),
  longForm(cosmos, 'before the nonce'),
  longForm(cosmos, 'last'),
]

/** What a reader could take for a field of the message. */
const fieldLike =
  /^\s*(?:Address|URI|Version|Chain ID|Nonce|Issued At|Expiration Time|Not Before|Request ID|Resources)\s*:/i

/** Reads a text to the letter; undefined where it is of none of the forms. */
export function readMessage(text: string): SignInMessage | undefined {
  const found = forms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  if (!found || [found.domain, found.statement].some((line = '') => fieldLike.test(line))) return undefined
  const { domain = '', address = '', nonce: value = '', chainId, issuedAt = '', expiresAt, notBefore } = found
  const times = [issuedAt, expiresAt, notBefore].filter((time) => time !== undefined)
  if (!times.every(isReal)) return undefined
  const message: SignInMessage = { domain, address, nonce: value, issuedAt: new Date(issuedAt) }
  if (chainId !== undefined) message.chainId = chainId
  if (expiresAt !== undefined) message.expiresAt = new Date(expiresAt)
  if (notBefore !== undefined) message.notBefore = new Date(notBefore)
  return message
}

/** Whether there is such a time: `Date` takes February 30 for a day in March. */
function isReal(time: string): boolean {
  const day = time.slice(0, 10)
  return !Number.isNaN(new Date(time).getTime()) && new Date(day).toISOString().startsWith(day)
}
