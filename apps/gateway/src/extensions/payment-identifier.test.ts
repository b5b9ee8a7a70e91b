import { type ApiError } from '@tollgate/service'
import {
  appendPaymentIdentifierToExtensions,
  generatePaymentId,
  isPaymentIdentifierExtension,
  isPaymentIdentifierRequired,
  isValidPaymentId,
  validatePaymentIdentifier,
} from '@x402/extensions/payment-identifier'
import { publicPayment } from '../testing/public-client'
import { assertRepeat, fingerprintOf, parsePaymentId, paymentIdentifier } from './payment-identifier'

const accepted = {
  scheme: 'exact',
  network: 'eip155:84532',
  amount: '10000',
  asset: `0x${'a'.repeat(40)}`,
  payTo: `0x${'b'.repeat(40)}`,
  maxTimeoutSeconds: 60,
  extra: {},
}
const payload = { signature: '0xab', authorization: { from: '0x01', nonce: '0x02' } }
const id = 'pay_7d5d747be160e280504c099d984bcfe0'
const echo = (info: unknown) => ({ 'payment-identifier': { info } })

function refusalOf(run: () => unknown) {
  try {
    return run()
  } catch (error) {
    const { status, code } = error as ApiError
    return [status, code]
  }
}

/** The extensions of a payment by the public client, whose user chose `paymentId`. */
async function returned(paymentId: string | undefined) {
  const extensions = structuredClone(paymentIdentifier) as Record<string, unknown>
  if (paymentId !== undefined) appendPaymentIdentifierToExtensions(extensions, paymentId)
  const resource = { url: 'https://gateway.example/v1/base-sepolia' }
  const required = { x402Version: 2 as const, resource, accepts: [accepted], extensions }
  return (await publicPayment(required, { payload })).extensions
}

test('is declared as optional, in the form that the public package takes', () => {
  const declared = paymentIdentifier['payment-identifier']
  expect(isPaymentIdentifierExtension(declared)).toBe(true)
  expect(isPaymentIdentifierRequired(declared)).toBe(false)
  expect(validatePaymentIdentifier(declared)).toEqual({ valid: true })
})

test('the identifier that the public client sends is read, and its absence', async () => {
  const chosen = generatePaymentId()
  expect(parsePaymentId(await returned(chosen))).toBe(chosen)
  expect(parsePaymentId(await returned(undefined))).toBeUndefined()
  for (const extensions of [undefined, null, {}, { bazaar: {} }])
    expect(parsePaymentId(extensions)).toBeUndefined()
})

test.each([
  ['16 characters', 'a'.repeat(16), true],
  ['128 characters', `${'Z'.repeat(120)}_-_-0123`, true],
  ['15 characters', 'a'.repeat(15), false],
  ['129 characters', 'a'.repeat(129), false],
  ['a space', `${'a'.repeat(16)} b`, false],
  ['a line break at the end', `${'a'.repeat(16)}\n`, false],
  ['a letter outside ASCII', `${'a'.repeat(16)}é`, false],
  ['a number', 1_234_567_890_123_456, false],
  ['null', null, false],
])('an identifier of %s is judged as the specification has it', (_name, value, isValid) => {
  expect(isValidPaymentId(value as string)).toBe(isValid)
  const parse = () => parsePaymentId(echo({ required: false, id: value }))
  if (isValid) expect(parse()).toBe(value)
  else expect(refusalOf(parse)).toEqual([400, 'INVALID_REQUEST'])
})

test('an extension of another form is refused', () => {
  for (const extension of [null, 'text', [], {}, { info: null }, { info: id }])
    expect(refusalOf(() => parsePaymentId({ 'payment-identifier': extension }))).toEqual([
      400,
      'INVALID_REQUEST',
    ])
})

const request = {
  method: 'POST',
  path: '/v1/base-sepolia',
  body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
  payment: { payload, accepted },
}

test('a repeat has the same fingerprint, whatever the order of its members and the extensions it returns', () => {
  const { from, nonce } = payload.authorization
  const reordered = { authorization: { nonce, from }, signature: payload.signature }
  const repeat = {
    ...request,
    body: Buffer.from(request.body),
    payment: { accepted, payload: reordered, extensions: { 'sign-in-with-x': { info: { nonce: 'other' } } } },
  }
  expect(fingerprintOf(repeat)).toBe(fingerprintOf(request))
  expect(fingerprintOf(request)).toMatch(/^[0-9a-f]{64}$/)
})

test('another request or payment has another fingerprint', () => {
  const authorization = { ...payload.authorization, nonce: '0x03' }
  const others = [
    { ...request, method: 'GET' },
    { ...request, path: '/v1/base' },
    { ...request, path: `${request.path}"`, body: `"${request.body}` },
    { ...request, body: `${request.body} ` },
    { ...request, body: '' },
    { ...request, payment: { payload: { ...payload, authorization }, accepted } },
    { ...request, payment: { payload: { ...payload, signature: '0xac' }, accepted } },
    { ...request, payment: { payload, accepted: { ...accepted, amount: '20000' } } },
    { ...request, payment: { payload } },
    { ...request, payment: { payload: 'text', accepted } },
  ]
  expect(new Set([request, ...others].map(fingerprintOf)).size).toBe(others.length + 1)
})

test('the same identifier is a conflict for anything else than what it was used for', () => {
  const fingerprint = fingerprintOf(request)
  const other = fingerprintOf({ ...request, body: '' })
  expect(() => assertRepeat(id, fingerprint, undefined)).not.toThrow()
  expect(() => assertRepeat(id, fingerprint, fingerprint)).not.toThrow()
  expect(refusalOf(() => assertRepeat(id, other, fingerprint))).toEqual([409, 'CONFLICT'])
})
