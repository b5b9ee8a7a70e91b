import { hexlify } from 'ethers'
import fc from 'fast-check'
import { readMessage, type SignInMessage } from './message'

const address = fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => hexlify(bytes))
const nonce = fc.stringMatching(/^[A-Za-z0-9]{8,64}$/)
const date = fc.date({ min: new Date('2020-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
const word = fc.stringMatching(/^[!-~]{1,40}$/)
const host = fc.stringMatching(/^[a-z0-9][a-z0-9.-]{0,40}(:[0-9]{1,5})?$/)
const line = fc.stringMatching(/^[ -~]{1,80}$/)
const isField = (text: string) => /^[A-Z][A-Za-z ]+:/.test(text)

type Parts = Pick<SignInMessage, 'domain' | 'address' | 'nonce' | 'issuedAt'>

const shortForm = fc
  .record({ domain: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9 .:-]{0,60}$/), address, nonce, issuedAt: date })
  .map((parts: Parts) => ({
    parts,
    text: [
      `${parts.domain} wants you to sign in.`,
      '',
      `Address: ${parts.address}`,
      `Nonce: ${parts.nonce}`,
      `Issued At: ${parts.issuedAt.toISOString()}`,
    ].join('\n'),
  }))

const ends = {
  expiresAt: fc.option(date, { nil: undefined }),
  notBefore: fc.option(date, { nil: undefined }),
  requestId: fc.option(word, { nil: undefined }),
  resources: fc.option(fc.array(word, { maxLength: 3 }), { nil: undefined }),
}
const noEnds = {
  expiresAt: fc.constant(undefined),
  notBefore: fc.constant(undefined),
  requestId: fc.constant(undefined),
  resources: fc.constant(undefined),
}

/** EIP-4361 as its authors' library (two empty lines) and viem (one) write it where there is no statement. */
const eip4361 = (optional: typeof ends | typeof noEnds = ends) =>
  fc
    .record({
      domain: host,
      address,
      nonce,
      issuedAt: date,
      scheme: fc.constantFrom('', 'https://'),
      between: fc.oneof(
        fc.constantFrom('\n\n', '\n\n\n'),
        line.filter((text) => !isField(text)).map((statement) => `\n\n${statement}\n\n`),
      ),
      chainId: fc.integer({ min: 1, max: 1_000_000 }),
      ...optional,
    })
    .map(({ scheme, between, chainId, requestId, resources, ...message }) => ({
      parts: message,
      text: [
        `${scheme}${message.domain} wants you to sign in with your Ethereum account:`,
        `${message.address}${between}URI: https://${message.domain}/login`,
        'Version: 1',
        `Chain ID: ${chainId}`,
        `Nonce: ${message.nonce}`,
        `Issued At: ${message.issuedAt.toISOString()}`,
        ...(message.expiresAt ? [`Expiration Time: ${message.expiresAt.toISOString()}`] : []),
        ...(message.notBefore ? [`Not Before: ${message.notBefore.toISOString()}`] : []),
        ...(requestId === undefined ? [] : [`Request ID: ${requestId}`]),
        ...(resources === undefined ? [] : ['Resources:', ...resources.map((resource) => `- ${resource}`)]),
      ].join('\n'),
    }))

const either = fc.oneof(shortForm, eip4361())

function insertLine(text: string, at: number, inserted: string) {
  const lines = text.split('\n')
  lines.splice(at % (lines.length + 1), 0, inserted)
  return lines.join('\n')
}

describe('a sign-in message', () => {
  test('is read to the letter, in either form', () => {
    fc.assert(
      fc.property(either, ({ text, parts }) => {
        const { expiresAt, notBefore, ...rest } = { expiresAt: undefined, notBefore: undefined, ...parts }
        expect(readMessage(text)).toEqual({
          ...rest,
          ...(expiresAt && { expiresAt }),
          ...(notBefore && { notBefore }),
        })
      }),
    )
  })

  test('with a second address or nonce, wherever it stands, is none', () => {
    const field = fc.oneof(
      address.map((value) => `Address: ${value}`),
      nonce.map((value) => `Nonce: ${value}`),
    )
    fc.assert(
      fc.property(either, fc.nat(), field, ({ text }, at, inserted) => {
        expect(readMessage(insertLine(text, at, inserted))).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('with any text after its end is none', () => {
    const suffix = fc
      .oneof(
        fc.string({ minLength: 1 }),
        line.map((text) => `\n${text}`),
        fc.constantFrom('\n', ' ', '\u0000'),
      )
      .filter((text) => !/^\n(Expiration Time|Not Before|Request ID|Resources):/.test(text))
    fc.assert(
      fc.property(fc.oneof(shortForm, eip4361(noEnds)), suffix, ({ text }, more) => {
        expect(readMessage(text + more)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('with any text before its beginning is none', () => {
    fc.assert(
      fc.property(either, fc.option(line, { nil: '' }), ({ text }, before) => {
        expect(readMessage(`${before}\n${text}`)).toBeUndefined()
      }),
    )
  })

  test('with a carriage return anywhere is none', () => {
    fc.assert(
      fc.property(either, fc.nat(), ({ text }, at) => {
        const index = at % (text.length + 1)
        expect(readMessage(`${text.slice(0, index)}\r${text.slice(index)}`)).toBeUndefined()
      }),
      { numRuns: 500 },
    )
  })

  test('without one of its lines, or with two of them swapped, is none', () => {
    fc.assert(
      fc.property(fc.oneof(shortForm, eip4361(noEnds)), fc.nat(), ({ text }, at) => {
        const lines = text.split('\n')
        const fields = lines.flatMap((value, index) => (value === '' || !isField(value) ? [] : [index]))
        const index = fields[at % fields.length]!
        expect(readMessage(lines.toSpliced(index, 1).join('\n'))).toBeUndefined()
        const other = fields[(at + 1) % fields.length]!
        const swapped = lines.with(index, lines[other]!).with(other, lines[index]!)
        expect(readMessage(swapped.join('\n'))).toBeUndefined()
      }),
    )
  })

  test.each([
    ['a line that other readers break', 'Hello\u2028Nonce: abcdefgh'],
    ['a paragraph separator', 'Hello\u2029Nonce: abcdefgh'],
    ['a next-line control', 'Hello\u0085Nonce: abcdefgh'],
    ['a second nonce', 'Nonce: abcdefgh12'],
    ['a second address', `Address: 0x${'1'.repeat(40)}`],
    ['a second chain', 'Chain ID: 1'],
    ['a second time', 'Issued At: 2026-01-01T00:00:00Z'],
    ['an end of its own', 'Expiration Time: 2099-01-01T00:00:00Z'],
  ])('whose statement holds %s is none', (_, statement) => {
    const [{ text } = { text: '' }] = fc.sample(eip4361(noEnds), { numRuns: 1, seed: 7 })
    const [before = '', after = ''] = text.split(/\n\n.*URI/s)
    expect(readMessage(`${before}\n\nSign in, please\n\nURI${after}`)).toBeDefined()
    expect(readMessage(`${before}\n\n${statement}\n\nURI${after}`)).toBeUndefined()
  })

  test.each([
    '2026-13-01T00:00:00Z',
    '2026-01-01',
    'now',
    '2026-01-01T00:00:00',
    '2026-01-01T00:00:00+99:00',
  ])('issued at %s is none', (time) => {
    const text = `Tollgate wants you to sign in.\n\nAddress: 0x1\nNonce: abcdefgh\nIssued At: ${time}`
    expect(readMessage(text)).toBeUndefined()
  })
})
