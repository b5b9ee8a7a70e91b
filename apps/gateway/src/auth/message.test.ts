import fc from 'fast-check'
import { eip4361Text } from '../testing/eip4361'
import {
  address,
  anyForm,
  eip4361,
  fieldLike,
  line,
  longFormOf,
  NO_OPTIONAL_FIELDS,
  nonce,
  shortForm,
} from '../testing/messages'
import { signInText } from '../testing/wallet'
import { parseMessage } from './message'

function insertLine(text: string, at: number, inserted: string) {
  const lines = text.split('\n')
  lines.splice(at % (lines.length + 1), 0, inserted)
  return lines.join('\n')
}

describe('a sign-in message', () => {
  test('is parsed exactly, in any form', () => {
    fc.assert(
      fc.property(anyForm, ({ text, parts }) => {
        expect(parseMessage(text)).toEqual(parts)
      }),
    )
  })

  test('with a second address or nonce at any position is rejected', () => {
    const field = fc.oneof(
      address.map((value) => `Address: ${value}`),
      nonce.map((value) => `Nonce: ${value}`),
    )
    fc.assert(
      fc.property(anyForm, fc.nat(), field, ({ text }, at, inserted) => {
        expect(parseMessage(insertLine(text, at, inserted))).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('with text after its end is rejected', () => {
    const suffix = fc
      .oneof(
        fc.string({ minLength: 1 }),
        line.map((text) => `\n${text}`),
        fc.constantFrom('\n', ' ', '\u0000'),
      )
      .filter((text) => !/^\n(Expiration Time|Not Before|Request ID|Resources):/.test(text))
    fc.assert(
      fc.property(fc.oneof(shortForm, longFormOf(NO_OPTIONAL_FIELDS)), suffix, ({ text }, more) => {
        // If the chain id is the last line, text after it makes it another chain id.
        fc.pre(!/\nChain ID: .*$/.test(text) || !/^[\w.-]+$/.test(more))
        expect(parseMessage(text + more)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('with text before its beginning is rejected', () => {
    fc.assert(
      fc.property(anyForm, fc.option(line, { nil: '' }), ({ text }, before) => {
        expect(parseMessage(`${before}\n${text}`)).toBeUndefined()
      }),
    )
  })

  test('with a carriage return is rejected', () => {
    fc.assert(
      fc.property(anyForm, fc.nat(), ({ text }, at) => {
        const index = at % (text.length + 1)
        expect(parseMessage(`${text.slice(0, index)}\r${text.slice(index)}`)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('with a missing line or two swapped lines is rejected', () => {
    fc.assert(
      fc.property(fc.oneof(shortForm, longFormOf(NO_OPTIONAL_FIELDS)), fc.nat(), ({ text }, at) => {
        const lines = text.split('\n')
        const fields = lines.flatMap((value, index) => (fieldLike.test(value) ? [index] : []))
        const index = fields[at % fields.length]!
        expect(parseMessage(lines.toSpliced(index, 1).join('\n'))).toBeUndefined()
        const other = fields[(at + 1) % fields.length]!
        const swapped = lines.with(index, lines[other]!).with(other, lines[index]!)
        expect(parseMessage(swapped.join('\n'))).toBeUndefined()
      }),
    )
  })

  test('may have resources, a statement and a request id of any length, as wallets write for ERC-5573', () => {
    const recap = `urn:recap:${'eyJhdHQiOnsi'.repeat(160)}`
    const parts = { address: `0x${'1'.repeat(40)}`, nonce: 'abcdefgh', issuedAt: '2026-01-01T00:00:00Z' }
    const resources = [recap, ...Array.from({ length: 40 }, (_, index) => `https://app.example/${index}`)]
    const statement = `I further authorize the stated URI: ${"(1) 'request': 'eth_sign'. ".repeat(60)}end`
    expect(parseMessage(eip4361Text({ ...parts, statement, resources }))).toMatchObject({ resources })
  })

  test.each([
    ['a line that other readers break', 'Hello\u2028Nonce: abcdefgh'],
    ['a paragraph separator', 'Hello\u2029Nonce: abcdefgh'],
    ['a next-line control', 'Hello\u0085Nonce: abcdefgh'],
    ['a second nonce', 'Nonce: abcdefgh12'],
    ['a second address', `Address: 0x${'1'.repeat(40)}`],
    ['a second chain', 'Chain ID: 1'],
    ['a second time', 'Issued At: 2026-01-01T00:00:00Z'],
    ['an expiry of its own', 'Expiration Time: 2099-01-01T00:00:00Z'],
  ])('whose statement contains %s is rejected', (_, statement) => {
    const [{ text } = { text: '' }] = fc.sample(eip4361(NO_OPTIONAL_FIELDS), { numRuns: 1, seed: 7 })
    const [before = '', after = ''] = text.split(/\n\n.*URI/s)
    expect(parseMessage(`${before}\n\nSign in, please\n\nURI${after}`)).toBeDefined()
    expect(parseMessage(`${before}\n\n${statement}\n\nURI${after}`)).toBeUndefined()
  })

  test.each([
    ['a right-to-left override', 'Sign \u202eni\u202c please'],
    ['a bidirectional isolate', 'Sign \u2067in\u2069 please'],
    ['an invisible character', 'Sign in\u200b'],
    ['a soft hyphen', 'Sign\u00adin'],
    ['a letter of another script', 'Sign in t\u043e us'],
    ['a field in capitals', 'NONCE: abcdefgh'],
    ['an indented field', '   Nonce : abcdefgh'],
    ['a tab', '\tNonce: abcdefgh'],
    ['half a character', 'Sign in \ud83d'],
    ['a NUL', 'Sign in\u0000'],
  ])('whose statement contains %s is rejected', (_, statement) => {
    const text = eip4361Text({
      address: `0x${'1'.repeat(40)}`,
      nonce: 'abcdefgh',
      issuedAt: '2026-01-01T00:00:00Z',
      statement,
    })
    expect(parseMessage(text.replace(statement, 'Sign in'))).toBeDefined()
    expect(parseMessage(text)).toBeUndefined()
  })

  const shortText = (parts: { domain?: string; issuedAt?: string }) =>
    signInText({
      address: `0x${'1'.repeat(40)}`,
      nonce: 'abcdefgh',
      issuedAt: '2026-01-01T00:00:00Z',
      ...parts,
    })

  test.each([
    'T\u043ellgate',
    'Tollgate\u0301',
    '\uff34ollgate',
    'Tollgate ',
    ' Tollgate',
    'Tollgate\u00a0',
    'tollgate',
    'Caf\u00e9',
  ])('for the service %j is not accepted for a similar name', (domain) => {
    expect(parseMessage(shortText({ domain }))?.domain).toBe(domain)
  })

  test.each([
    'Toll\u200bgate',
    '\u202eetagllot',
    'Tollgate\u0000',
    'Tollgate\u2028x',
    '\ufeffTollgate',
    'Toll\ud83dgate',
    'Nonce: 12345678',
    '',
  ])('for the service %j, which contains invisible characters, is rejected', (domain) => {
    expect(parseMessage(shortText({ domain }))).toBeUndefined()
  })

  test.each([
    ...['2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-01-00T00:00:00Z', '2026-01-32T00:00:00Z'],
    ...['2026-02-29T00:00:00Z', '2026-02-30T00:00:00Z', '2026-04-31T12:00:00+02:00', '2100-02-29T00:00:00Z'],
    ...['2026-01-01T24:00:00Z', '2026-01-01T23:60:00Z', '2026-01-01T23:59:60Z', '2026-01-01T00:00:00+24:00'],
    ...[
      '2026-01-01T00:00:00+99:00',
      '2026-01-01T00:00:00+00:60',
      '2026-01-01T00:00:00+0000',
      '2026-01-01T00:00:00',
    ],
    ...[
      '2026-01-01',
      'now',
      '1767225600',
      '10000-01-01T00:00:00Z',
      '+010000-01-01T00:00:00Z',
      '26-01-01T00:00:00Z',
    ],
    ...[
      '2026-01-01 00:00:00Z',
      '2026-01-01T00:00:00,5Z',
      '2026-01-01T00:00:00.Z',
      '2026-01-01T00:00:00.1234567890Z',
    ],
    ...['2026-01-01T00:00:00Z ', ' 2026-01-01T00:00:00Z', '２０２６-01-01T00:00:00Z', '2026-1-1T00:00:00Z'],
    ...['2026-W01-1T00:00:00Z', '20260101T000000Z', '2026-01-01T00:00Z', '2026-01-01T00:00:00z'],
  ])('issued at %s is rejected', (issuedAt) => {
    expect(parseMessage(shortText({ issuedAt }))).toBeUndefined()
  })

  test.each([
    ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z'],
    ['2026-12-31T23:59:59.999999999Z', '2026-12-31T23:59:59.999Z'],
    ['2026-01-01T00:30:00+01:00', '2025-12-31T23:30:00.000Z'],
    ['2026-01-01T00:00:00-23:59', '2026-01-01T23:59:00.000Z'],
    ['9999-12-31T23:59:59Z', '9999-12-31T23:59:59.000Z'],
  ])('issued at %s is read as %s', (issuedAt, moment) => {
    expect(parseMessage(shortText({ issuedAt }))?.issuedAt.toISOString()).toBe(moment)
  })
})
