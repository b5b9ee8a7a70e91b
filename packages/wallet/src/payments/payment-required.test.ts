import { decodeJson, encodeJson } from '../encoding'
import { parsePaymentRequired, paymentHeader, receiptIn, timeOf } from './payment-required'

const NOW = Date.parse('2026-11-25T12:00:00Z')
const terms = {
  scheme: 'exact',
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  payTo: '0x941b84B0EFa6B0De50C626dD1c5870441344F361',
  maxTimeoutSeconds: 60,
  extra: { name: 'USDC', version: '2' },
}
const entryV1 = {
  ...terms,
  network: 'base-sepolia',
  maxAmountRequired: '10000',
  resource: 'https://shop.example/',
}
const entryV2 = { ...terms, network: 'eip155:84532', amount: '10000' }
const v2 = { x402Version: 2, resource: { url: 'https://shop.example/' }, accepts: [entryV2] }

const answerWith = (header?: unknown) => ({
  headers: new Headers(header === undefined ? {} : { 'payment-required': encodeJson(header) }),
})

test('reads at most fifty offers, each of which is compared with the log', () => {
  const entry = {
    scheme: 'exact',
    network: 'eip155:84532',
    asset: '0x01',
    payTo: '0x02',
    maxTimeoutSeconds: 60,
    amount: '1',
  }
  const body = { x402Version: 2, accepts: Array.from({ length: 60 }, () => entry) }
  const headers = new Headers({ 'payment-required': encodeJson(body) })
  expect(parsePaymentRequired({ headers }, undefined, NOW)?.offers).toHaveLength(50)
})

test('compares the clocks when the answer came', () => {
  const body = { x402Version: 2, accepts: [] }
  const skewWith = (more: Record<string, string>) => {
    const headers = new Headers({ 'payment-required': encodeJson(body), ...more })
    return parsePaymentRequired({ headers }, undefined, NOW)?.clockSkew
  }
  expect(skewWith({ date: 'Wed, 25 Nov 2026 12:01:00 GMT' })).toBe(60_000)
  expect(skewWith({ date: 'Wed, 25 Nov 2026 11:59:00 GMT' })).toBe(-60_000)
  expect(skewWith({})).toBe(0)
})

test('knows the server’s clock, also of an answer from a cache', () => {
  const timeIn = (headers: Record<string, string>) => timeOf(new Headers(headers))
  expect(timeIn({ date: 'Wed, 25 Nov 2026 12:00:00 GMT' })).toBe(Date.parse('2026-11-25T12:00:00Z'))
  expect(timeIn({ date: 'Wed, 25 Nov 2026 12:00:00 GMT', age: '90' })).toBe(
    Date.parse('2026-11-25T12:01:30Z'),
  )
  for (const headers of [{}, { date: 'noon' }, { date: 'Wed, 25 Nov 2026 12:00:00 GMT', age: 'old' }])
    expect(timeIn(headers)).toBeUndefined()
})

test('reads both versions to the same terms, and prefers version 2', () => {
  const one = parsePaymentRequired(answerWith(), { x402Version: 1, accepts: [entryV1] }, NOW)?.offers[0]
  const two = parsePaymentRequired(answerWith(v2), { x402Version: 1, accepts: [entryV1] }, NOW)?.offers[0]
  expect(one).toMatchObject({ x402Version: 1, network: 'eip155:84532', amount: 10000n })
  expect(two).toEqual({ ...one, x402Version: 2, entry: entryV2 })
})

test.each([
  ['a fraction', { ...entryV2, amount: '1.5' }],
  ['a number', { ...entryV2, amount: 10000 }],
  ['a negative amount', { ...entryV2, amount: '-1' }],
  ['an exponent', { ...entryV2, amount: '1e4' }],
  ['more than 78 digits', { ...entryV2, amount: '9'.repeat(79) }],
  ['no recipient', { ...entryV2, payTo: undefined }],
  ['a timeout that is no number', { ...entryV2, maxTimeoutSeconds: '60' }],
  ['text', 'pay me'],
])('leaves out an entry with %s', (_name, entry) => {
  expect(
    parsePaymentRequired(answerWith({ ...v2, accepts: [entry, entryV2] }), undefined, NOW)?.offers,
  ).toHaveLength(1)
})

test.each([
  ['no JSON', undefined],
  ['another version', { x402Version: 3, accepts: [entryV2] }],
  ['the 402 of something else', { error: 'quota exceeded' }],
])('finds no x402 in %s', (_name, body) => {
  expect(parsePaymentRequired(answerWith(), body, NOW)).toBeUndefined()
})

test('leaves out a network that version 1 has no name for', () => {
  const body = { x402Version: 1, accepts: [{ ...entryV1, network: 'solana' }] }
  expect(parsePaymentRequired(answerWith(), body, NOW)?.offers).toEqual([])
})

test('returns the accepted entry, the resource and an identifier in version 2', () => {
  const extensions = { 'payment-identifier': { info: { required: false }, schema: {} }, bazaar: { info: {} } }
  const required = parsePaymentRequired(answerWith({ ...v2, extensions }), undefined, NOW)
  const [offer] = required?.offers ?? []
  if (!required || !offer) throw new Error('nothing was read')
  const header = paymentHeader(offer, { payload: { signature: '0x' } }, required, 'payment-1')
  expect(decodeJson(header['payment-signature'] ?? '')).toEqual({
    x402Version: 2,
    resource: { url: 'https://shop.example/' },
    accepted: entryV2,
    payload: { signature: '0x' },
    extensions: { 'payment-identifier': { info: { required: false, id: 'payment-1' }, schema: {} } },
  })
})

test('names the network of version 1 as it was offered', () => {
  const required = parsePaymentRequired(answerWith(), { x402Version: 1, accepts: [entryV1] }, NOW)
  const [offer] = required?.offers ?? []
  if (!required || !offer) throw new Error('nothing was read')
  const header = paymentHeader(offer, { payload: {} }, required, 'payment-1')
  expect(decodeJson(header['x-payment'] ?? '')).toEqual({
    x402Version: 1,
    scheme: 'exact',
    network: 'base-sepolia',
    payload: {},
  })
})

test.each([
  ['PAYMENT-RESPONSE', { success: true, transaction: '0x1' }, { success: true, transaction: '0x1' }],
  ['X-PAYMENT-RESPONSE', { success: false }, { success: false, transaction: '' }],
  ['X-PAYMENT-RESPONSE', 'paid', undefined],
])('reads the receipt in %s', (name, receipt, expected) => {
  expect(receiptIn({ headers: new Headers({ [name]: encodeJson(receipt) }) })).toEqual(expected)
})
