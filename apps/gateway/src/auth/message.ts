/** A sign-in message in the gateway's short form, EIP-4361 or CAIP-122. Its times exist. */
export type SignInMessage = {
  domain: string
  address: string
  nonce: string
  chainId?: string
  issuedAt: Date
  expiresAt?: Date
  notBefore?: Date
  /** Of EIP-4361 and CAIP-122; the short form has neither. */
  uri?: string
  /** The gateway's URL in the statement of `@tollgate/wallet`. */
  statedGateway?: string
  resources?: string[]
}

const timestamp = String.raw`\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})`
const nonce = String.raw`(?<nonce>[A-Za-z0-9]{8,64})`

const shortForm = new RegExp(
  String.raw`^(?<domain>[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]{1,128}) wants you to sign in\.\n\nAddress: (?<address>[A-Za-z0-9]{1,128})\nNonce: ${nonce}\nIssued At: (?<issuedAt>${timestamp})$`,
  'u',
)

type Account = { word: string; address: string; chainId: string }

const ethereum: Account = {
  word: 'Ethereum',
  address: '0x[0-9a-fA-F]{40}',
  chainId: '(?<chainId>[1-9][0-9]{0,19})',
}

const cosmos: Account = {
  word: 'Cosmos',
  address: '[a-z][a-z0-9]{0,50}1[02-9ac-hj-np-z]{38}',
  chainId: '(?:cosmos:)?(?<chainId>[A-Za-z0-9][A-Za-z0-9._-]{0,49})',
}

function longForm({ word, address, chainId }: Account, chainIdIs: 'before the nonce' | 'last') {
  const chain = String.raw`\nChain ID: ${chainId}`
  const [before, after] = chainIdIs === 'last' ? ['', chain] : [chain, '']
  return new RegExp(
    [
      String.raw`^(?:[a-z][a-z0-9+.-]*://)?(?<domain>(?![^ ]*[/?#@])[!-~]{1,128}) wants you to sign in with your ${word} account:`,
      `(?<address>${address})`,
      String.raw`(?:\n(?<statement>[ -~]+)\n|\n?)`,
      String.raw`URI: (?<uri>[a-z][a-z0-9+.-]*:[!-~]+)`,
      `Version: 1${before}`,
      `Nonce: ${nonce}`,
      `Issued At: (?<issuedAt>${timestamp})` +
        `(?:\\nExpiration Time: (?<expiresAt>${timestamp}))?` +
        `(?:\\nNot Before: (?<notBefore>${timestamp}))?` +
        String.raw`(?:\nRequest ID: [!-~]*)?${after}(?:\nResources:(?<resources>(?:\n- [!-~]+)*))?$`,
    ].join('\n'),
  )
}

/**
 * The specifications bound no field; `LoginRequest` bounds the text.
 *
 * EIP-4361 (https://eips.ethereum.org/EIPS/eip-4361#abnf-message-format) for Ethereum. For Cosmos the same text, as libraries
 * write it, and the form of CAIP-122 (https://chainagnostic.org/CAIPs/caip-122#examples), whose Chain ID is last.
 */
const forms = [
  shortForm,
  longForm(ethereum, 'before the nonce'),
  longForm(cosmos, 'before the nonce'),
  longForm(cosmos, 'last'),
]

/** Text that a reader can mistake for a field of the message. */
const FIELD_LIKE =
  /^\s*(?:Address|URI|Version|Chain ID|Nonce|Issued At|Expiration Time|Not Before|Request ID|Resources)\s*:/i

const STATED_GATEWAY = /^Sign in to spend your credits at (\S+)\.$/

export function parseMessage(text: string): SignInMessage | undefined {
  const found = forms.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  if (!found || [found.domain, found.statement].some((line = '') => FIELD_LIKE.test(line))) return undefined
  const { domain = '', address = '', nonce: value = '', chainId, issuedAt = '', expiresAt, notBefore } = found
  const times = [issuedAt, expiresAt, notBefore].filter((time) => time !== undefined)
  if (!times.every(isRealTime)) return undefined
  const message: SignInMessage = { domain, address, nonce: value, issuedAt: new Date(issuedAt) }
  if (chainId !== undefined) message.chainId = chainId
  if (expiresAt !== undefined) message.expiresAt = new Date(expiresAt)
  if (notBefore !== undefined) message.notBefore = new Date(notBefore)
  if (found.uri !== undefined) message.uri = found.uri
  const statedGateway = STATED_GATEWAY.exec(found.statement ?? '')?.[1]
  if (statedGateway !== undefined) message.statedGateway = statedGateway
  if (found.resources !== undefined) message.resources = found.resources.split('\n- ').slice(1)
  return message
}

/** `Date` reads February 30 as a day in March. */
function isRealTime(time: string): boolean {
  const day = time.slice(0, 10)
  return !Number.isNaN(new Date(time).getTime()) && new Date(day).toISOString().startsWith(day)
}
