import { toBech32 } from '@cosmjs/encoding'
import { hexlify } from 'ethers'
import fc from 'fast-check'
import { type SignInMessage } from '../auth/message'

const twentyBytes = fc.uint8Array({ minLength: 20, maxLength: 20 })
const evmAddress = twentyBytes.map((bytes) => hexlify(bytes))
const bech32Address = fc
  .tuple(fc.stringMatching(/^[a-z][a-z0-9]{0,15}$/), twentyBytes)
  .map(([prefix, bytes]) => toBech32(prefix, bytes))
export const address = fc.oneof(evmAddress, bech32Address)
export const nonce = fc.stringMatching(/^[A-Za-z0-9]{8,64}$/)
const date = fc.date({ min: new Date('2020-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
const word = fc.stringMatching(/^[!-~]{1,40}$/)
const host = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,40}(:[0-9]{1,5})?$/)
export const line = fc.stringMatching(/^[ -~]{1,80}$/)
export const fieldLike = /^\s*[A-Z][A-Z ]+:/i

type Parts = Pick<SignInMessage, 'domain' | 'address' | 'nonce' | 'issuedAt'>
type MessageSample = { parts: Partial<SignInMessage>; text: string }

export const shortForm = fc
  .record({ domain: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9 .:-]{0,60}$/), address, nonce, issuedAt: date })
  .map((parts: Parts): MessageSample => ({
    parts,
    text: [
      `${parts.domain} wants you to sign in.`,
      '',
      `Address: ${parts.address}`,
      `Nonce: ${parts.nonce}`,
      `Issued At: ${parts.issuedAt.toISOString()}`,
    ].join('\n'),
  }))

const OPTIONAL_FIELDS = {
  expiresAt: fc.option(date, { nil: undefined }),
  notBefore: fc.option(date, { nil: undefined }),
  requestId: fc.option(word, { nil: undefined }),
  resources: fc.option(fc.array(word, { maxLength: 3 }), { nil: undefined }),
}
export const NO_OPTIONAL_FIELDS = {
  expiresAt: fc.constant(undefined),
  notBefore: fc.constant(undefined),
  requestId: fc.constant(undefined),
  resources: fc.constant(undefined),
}

type OptionalFields = typeof OPTIONAL_FIELDS | typeof NO_OPTIONAL_FIELDS
type Account = {
  word: string
  address: fc.Arbitrary<string>
  /** The chain as written in the text, and its id. */
  chain: fc.Arbitrary<{ written: string; chainId: string }>
  isChainLast: fc.Arbitrary<boolean>
}

/** Without a statement, the EIP-4361 library writes two empty lines and viem one. */
const longForm = (account: Account, optional: OptionalFields) =>
  fc
    .record({
      domain: host,
      address: account.address,
      nonce,
      issuedAt: date,
      scheme: fc.constantFrom('', 'https://'),
      between: fc.oneof(
        fc.constantFrom('\n\n', '\n\n\n'),
        line.filter((text) => !fieldLike.test(text)).map((statement) => `\n\n${statement}\n\n`),
      ),
      chain: account.chain,
      isChainLast: account.isChainLast,
      ...optional,
    })
    .map(({ scheme, between, chain, isChainLast, requestId, resources, ...message }): MessageSample => {
      const chainLine = `Chain ID: ${chain.written}`
      return {
        parts: {
          ...message,
          chainId: chain.chainId,
          uri: `https://${message.domain}/login`,
          ...(resources === undefined ? {} : { resources }),
        } as Partial<SignInMessage>,
        text: [
          `${scheme}${message.domain} wants you to sign in with your ${account.word} account:`,
          `${message.address}${between}URI: https://${message.domain}/login`,
          'Version: 1',
          ...(isChainLast ? [] : [chainLine]),
          `Nonce: ${message.nonce}`,
          `Issued At: ${message.issuedAt.toISOString()}`,
          ...(message.expiresAt ? [`Expiration Time: ${message.expiresAt.toISOString()}`] : []),
          ...(message.notBefore ? [`Not Before: ${message.notBefore.toISOString()}`] : []),
          ...(requestId === undefined ? [] : [`Request ID: ${requestId}`]),
          ...(isChainLast ? [chainLine] : []),
          ...(resources === undefined ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
        ].join('\n'),
      }
    })

export const eip4361 = (optional: OptionalFields = OPTIONAL_FIELDS) =>
  longForm(
    {
      word: 'Ethereum',
      address: evmAddress,
      chain: fc.integer({ min: 1, max: 1_000_000 }).map((id) => ({ written: `${id}`, chainId: `${id}` })),
      isChainLast: fc.constant(false),
    },
    optional,
  )

/** For Cosmos, with fields in the order of EIP-4361 or CAIP-122. */
const caip122 = (optional: OptionalFields = OPTIONAL_FIELDS) =>
  longForm(
    {
      word: 'Cosmos',
      address: bech32Address,
      chain: fc
        .tuple(fc.constantFrom('', 'cosmos:'), fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9._-]{0,49}$/))
        .map(([namespace, chainId]) => ({ written: namespace + chainId, chainId })),
      isChainLast: fc.boolean(),
    },
    optional,
  )

export const longFormOf = (optional: OptionalFields = OPTIONAL_FIELDS) =>
  fc.oneof(eip4361(optional), caip122(optional))

export const anyForm = fc.oneof(shortForm, longFormOf())

function fieldOfLine(line: string): string | undefined {
  if (line.includes(' wants you to sign in')) return 'domain'
  if (/^(0x[0-9a-f]{40}|[a-z][a-z0-9]*1[a-z0-9]{38})$/i.test(line)) return 'address'
  if (/^(Resources:|- )/.test(line)) return 'resources'
  return labels[/^([A-Z][A-Za-z ]+): /.exec(line)?.[1] ?? '']
}
const labels: Record<string, keyof SignInMessage> = {
  Address: 'address',
  Nonce: 'nonce',
  'Chain ID': 'chainId',
  'Issued At': 'issuedAt',
  'Expiration Time': 'expiresAt',
  'Not Before': 'notBefore',
  URI: 'uri',
}

type Edited = { text: string; fields: Set<string | undefined> }

/** Inserts, deletes or replaces a character or line, and reports the fields touched. */
export const anyEdit: fc.Arbitrary<(text: string) => Edited> = (() => {
  const character = fc.oneof(
    fc.constantFrom(
      '\n',
      '\r',
      ' ',
      ':',
      'a',
      '0',
      'Z',
      '\t',
      '\v',
      '\u0085',
      '\u2028',
      '\u200b',
      '\u202e',
      '\u0000',
    ),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  )
  const field = fc
    .tuple(
      fc.constantFrom('\n', '\r', '\v', '\f', '\u0085', '\u2028', ''),
      fc.constantFrom('Nonce', 'Address', 'nonce'),
      fc.constantFrom(':', ': '),
    )
    .map(([end, label, colon]) => `${end}${label}${colon}12345678`)
  const inserted = fc.oneof(character, field)
  const newLine = fc.oneof(
    fc.constantFrom(
      '',
      '- more',
      'Resources:',
      'Version: 1',
      'Chain ID: 5',
      'URI: https://evil.example',
      'Hello',
    ),
    fc
      .constantFrom('Not Before: ', 'Expiration Time: ', 'Issued At: ')
      .map((label) => `${label}2030-01-01T00:00:00Z`),
    fc.constantFrom(
      'Nonce: 12345678',
      'Request ID: 1',
      `Address: 0x${'2'.repeat(40)}`,
      `0x${'2'.repeat(40)}`,
      toBech32('cosmos', new Uint8Array(20)),
    ),
  )
  const characterEdit = (change: (text: string, at: number, put: string) => string) =>
    fc.tuple(fc.nat(), inserted).map(([nat, put]) => (text: string): Edited => {
      const at = nat % text.length
      const lineAt = text.slice(0, at).split('\n').length - 1
      const touched = text.split('\n').slice(lineAt, lineAt + (text[at] === '\n' ? 2 : 1))
      return { text: change(text, at, put), fields: new Set(touched.map(fieldOfLine)) }
    })
  const lineEdit = (change: (lines: string[], at: number, put: string) => string[]) =>
    fc.tuple(fc.nat(), newLine).map(([nat, put]) => (text: string): Edited => {
      const lines = text.split('\n')
      const at = nat % lines.length
      return { text: change(lines, at, put).join('\n'), fields: new Set([lines[at]!, put].map(fieldOfLine)) }
    })
  return fc.oneof(
    characterEdit((text, at, put) => text.slice(0, at) + put + text.slice(at)),
    characterEdit((text, at) => text.slice(0, at) + text.slice(at + 1)),
    characterEdit((text, at, put) => text.slice(0, at) + put + text.slice(at + 1)),
    lineEdit((lines, at) => lines.toSpliced(at, 1)),
    lineEdit((lines, at) => lines.toSpliced(at, 0, lines[at]!)),
    lineEdit((lines, at, put) => lines.toSpliced(at, 0, put)),
    lineEdit((lines, at, put) => lines.with(at, put)),
    fc.constantFrom('\r\n', '\r', '\u2028').map((end) => (text: string): Edited => ({
      text: text.replaceAll('\n', end),
      fields: new Set<string>(),
    })),
  )
})()
