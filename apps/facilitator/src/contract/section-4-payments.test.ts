import { type SettleResult, type VerifyResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { newPayer, sharedChain, transfersFrom } from '../testing/chain'
import { newClient, testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { faulty } from '../testing/faulty'
import { outcomeOf } from '../testing/outcome'
import { AMOUNT, inSeconds, paymentRequest, type PaymentRequest } from '../testing/payment'

/**
 * The specification of `/verify` and `/settle`, sentence by sentence. Refusal reasons and exactly-once
 * settlement are tested in `payments/` and `settlement/`.
 */
const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let client: ClientHeaders
let sent: () => Promise<number>

beforeAll(async () => {
  ;({ facilitator, client, sent } = await facilitatorWithClient())
})
afterAll(closeAll)

type Body = Record<string, unknown>
const paths = ['/api/v1/verify', '/api/v1/settle'] as const
const post = (path: string, body: unknown, headers: object = {}) =>
  facilitator.api
    .post(path)
    .set({ ...client, 'Content-Type': 'application/json', ...headers })
    .send(JSON.stringify(body))
const verify = async (body: unknown) => (await post('/api/v1/verify', body).expect(200)).body as VerifyResult
const settle = async (body: unknown) => (await post('/api/v1/settle', body).expect(200)).body as SettleResult
const payment = async () => paymentRequest(await newPayer(rpcUrl))

const text = expect.any(String) as string
const isTaken = ({ body }: { body: unknown }) => {
  const { isValid, success } = body as Partial<VerifyResult & SettleResult>
  return isValid ?? success
}
const inPayload = (body: PaymentRequest, changes: Body) => ({
  ...body,
  paymentPayload: { ...body.paymentPayload, ...changes },
})
const inRequirements = (body: PaymentRequest, changes: Body) => ({
  ...body,
  paymentRequirements: { ...body.paymentRequirements, ...changes },
})
const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64')

async function spent() {
  const claims = await facilitator.database.prisma.settlement.count()
  return { transactions: await sent(), claims }
}

/** Expects 400 with the name of the field for each value; undefined omits the field. */
async function expectMalformed(
  change: (body: PaymentRequest, changes: Body) => Body,
  field: string,
  wrong: readonly unknown[],
) {
  const good = await payment()
  const before = await spent()
  for (const path of paths)
    for (const value of wrong) {
      const answer = await post(path, change(good, { [field]: value }))
      expect([value, ...outcomeOf(answer)]).toEqual([value, 400, 'INVALID_REQUEST'])
      expect((answer.body as { message: string }).message).toMatch(new RegExp(String.raw`\b${field}: `))
    }
  expect(await spent()).toEqual(before)
  expect(await verify(good)).toMatchObject({ isValid: true })
}

const noText = [undefined, null, 5, true, {}, ['x']]
const noShortText = [...noText, '']
const noAmount = [
  ...noText,
  '',
  '1e4',
  '0x10',
  ' 10 ',
  '-0',
  '+5',
  '1.0',
  '010',
  '１０',
  '9'.repeat(79),
  10_000,
]
const noInteger = [undefined, null, '60', true, {}, [], 1.5, 1e300]

describe('2. Payment payload', () => {
  test.each([
    ['x402Version', 'number', [undefined, null, '1', true, {}, []]],
    ['scheme', 'string', noShortText],
    ['network', 'string', noShortText],
    ['payload', 'string or object', [undefined, null, 5, true, []]],
  ])('%s | %s', (field, _, wrong) => expectMalformed(inPayload, field, wrong))

  test.each([0, 2, 3, -1, 1.5, 1e300])('x402Version | must be 1: %p is refused', async (x402Version) => {
    const body = inPayload(await payment(), { x402Version })
    const reason = 'invalid_x402_version'
    expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: reason })
    expect(await settle(body)).toMatchObject({
      success: false,
      errorReason: reason,
      network: 'base-sepolia',
    })
  })

  test('scheme | exact: another is refused', async () => {
    const body = inPayload(await payment(), { scheme: 'upto' })
    expect(await verify(body)).toMatchObject({ isValid: false, invalidReason: 'unsupported_scheme' })
    expect(await settle(body)).toMatchObject({ success: false, errorReason: 'unsupported_scheme' })
  })

  test.each<[string, (payload: object) => unknown]>([
    ['a JSON object', (payload) => payload],
    ['base64-encoded signed data', base64],
    ['the same in base64url', (payload) => Buffer.from(JSON.stringify(payload)).toString('base64url')],
  ])('payload | %s', async (_, write) => {
    const body = await payment()
    const written = inPayload(body, { payload: write(body.paymentPayload.payload) })
    expect(await verify(written)).toMatchObject({ isValid: true })
    expect(await settle(written)).toMatchObject({ success: true })
  })

  test('payload | as an object and as base64 it is one payment', async () => {
    const body = await payment()
    expect(await settle(body)).toMatchObject({ success: true })
    const again = inPayload(body, { payload: base64(body.paymentPayload.payload) })
    expect(await settle(again)).toMatchObject({ success: false, errorReason: 'duplicate_settlement' })
    const { from } = body.paymentPayload.payload.authorization
    expect(await transfersFrom(rpcUrl, from)).toHaveLength(1)
  })
})

describe('2. Payment requirements', () => {
  test.each([
    ['scheme', 'string', noShortText],
    ['network', 'string', noShortText],
    ['maxAmountRequired', 'string (smallest-unit amount)', noAmount],
    ['resource', 'string', noText],
    ['description', 'string', noText],
    // Optional by the specification, and null where x402-axum sells.
    ['mimeType', 'string', noText.filter((wrong) => wrong !== undefined && wrong !== null)],
    ['payTo', 'string', noShortText],
    ['maxTimeoutSeconds', 'integer', [...noInteger, 0, -1]],
    ['asset', 'string', noShortText],
    ['x402Version', 'integer', [null, '1', true, {}, []]],
  ])('%s | %s', (field, _, wrong) => expectMalformed(inRequirements, field, wrong))

  test('x402Version | may be left out, may be 1, and another is refused', async () => {
    const body = await payment()
    expect(await verify(inRequirements(body, { x402Version: 1 }))).toMatchObject({ isValid: true })
    expect(await verify(inRequirements(body, { x402Version: 2 }))).toMatchObject({
      isValid: false,
      invalidReason: 'invalid_x402_version',
    })
  })

  test.each<[string, Body]>([
    [
      'what x402-express 1.2 sends',
      { outputSchema: { input: { type: 'http', method: 'GET', discoverable: true } } },
    ],
    ['an outputSchema and an extra that are null', { outputSchema: null, extra: null }],
    ['no extra', { extra: undefined }],
    ['no mimeType', { mimeType: undefined }],
    ['a mimeType that is null', { mimeType: null }],
    ['unknown members', { discoverable: true, 'x-note': { a: [1] } }],
    ['the version that it speaks', { x402Version: 1 }],
    ['texts for people', { description: 'Größe, 大きさ, 😀', mimeType: 'application/json' }],
  ])('taken as clients send them: empty description and mimeType, %s', async (_, changes) => {
    const body = await payment()
    expect(body.paymentRequirements).toMatchObject({ description: '', mimeType: '' })
    const sent = inRequirements(body, changes)
    expect(await verify(sent)).toMatchObject({ isValid: true })
    expect(await settle(sent)).toMatchObject({ success: true })
  })

  test('extensions that are null, which version 1 has not, are taken', async () => {
    const sent = { ...(await payment()), extensions: null }
    expect(await verify(sent)).toMatchObject({ isValid: true })
    expect(await settle(sent)).toMatchObject({ success: true })
  })

  test('network | a name, a chain id or CAIP-2, each beside each; answers use the name', async () => {
    const spellings = ['base-sepolia', '84532', 'eip155:84532']
    const payer = await newPayer(rpcUrl)
    for (const paid of spellings)
      for (const spelling of spellings) {
        const body = inPayload(await paymentRequest(payer, { requirements: { network: spelling } }), {
          network: paid,
        })
        expect(await verify(body)).toMatchObject({ isValid: true })
        expect(await settle(body)).toMatchObject({ success: true, network: 'base-sepolia' })
        expect(await settle(body)).toMatchObject({ success: false, network: 'base-sepolia' })
      }
  })
})

describe('2. Verify result', () => {
  test('a valid payment: isValid, an empty invalidReason, the payer, Unix seconds, whether it was remembered', async () => {
    const body = await payment()
    const payer = body.paymentPayload.payload.authorization.from
    for (const cachedResult of [false, true]) {
      const { timestamp, ...result } = await verify(body)
      expect(result).toEqual({ isValid: true, invalidReason: '', payer, cachedResult })
      expect(Number.isSafeInteger(timestamp)).toBe(true)
      expect(Math.abs(timestamp - Date.now() / 1000)).toBeLessThan(30)
    }
  })

  test('an invalid payment: a reason, and an empty payer', async () => {
    const body = inRequirements(await payment(), { maxAmountRequired: '10001' })
    const { timestamp, ...result } = await verify(body)
    expect(result).toEqual({
      isValid: false,
      invalidReason: text,
      invalidMessage: text,
      payer: '',
      cachedResult: false,
    })
    expect(result.invalidReason).not.toBe('')
    expect(Number.isSafeInteger(timestamp)).toBe(true)
  })
})

describe('2. Settle result', () => {
  const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/

  test('a success: the transaction, its block, the network, the payer, when, and an empty errorReason', async () => {
    const body = await payment()
    const { transaction, blockNumber, timestamp, ...result } = await settle(body)
    const payer = body.paymentPayload.payload.authorization.from
    expect(result).toEqual({ success: true, errorReason: '', network: 'base-sepolia', payer })
    expect(transaction).toMatch(/^0x[0-9a-f]{64}$/)
    expect(Number.isSafeInteger(blockNumber) && blockNumber > 0).toBe(true)
    expect(timestamp).toMatch(TIME)
    expect(Math.abs(Date.parse(timestamp) - Date.now())).toBeLessThan(30_000)
  })

  test('a failure: a reason, empty transaction and payer, blockNumber 0', async () => {
    const { timestamp, errorReason, ...result } = await settle(
      inRequirements(await payment(), { maxAmountRequired: '10001' }),
    )
    expect(result).toEqual({
      success: false,
      transaction: '',
      network: 'base-sepolia',
      payer: '',
      blockNumber: 0,
      errorMessage: text,
    })
    expect(errorReason).not.toBe('')
    expect(timestamp).toMatch(TIME)
  })

  test('all of it is ASCII for any input, because the resource server sends it in a header', async () => {
    const strange = {
      description: 'é 大 😀',
      mimeType: 'ß',
      resource: 'https://shop.example/é',
      network: 'é大',
    }
    for (const changes of [{ ...strange, network: 'base-sepolia' }, strange]) {
      const answer = await post('/api/v1/settle', inRequirements(await payment(), changes))
      expect(answer.status).toBe(200)
      expect(answer.text).toMatch(/^[\x20-\x7e]+$/)
    }
  })
})

describe('4. POST /verify', () => {
  test('does not settle on-chain', async () => {
    const before = await spent()
    expect(await verify(await payment())).toMatchObject({ isValid: true })
    expect(await spent()).toEqual(before)
  })

  type Break = (body: PaymentRequest) => unknown
  test.each<[string, Break]>([
    [
      'bad signature',
      ({ paymentPayload: { payload } }) =>
        (payload.signature = payload.signature.replace(/^0x./, (head) => (head === '0x1' ? '0x2' : '0x1'))),
    ],
    ['wrong amount', ({ paymentRequirements }) => (paymentRequirements.maxAmountRequired = '9999')],
    ['expired', ({ paymentPayload }) => (paymentPayload.payload.authorization.validBefore = inSeconds(-1))],
    [
      'wrong recipient',
      ({ paymentRequirements }) => (paymentRequirements.payTo = Wallet.createRandom().address),
    ],
  ])('200, isValid false and a reason: %s', async (_, spoil) => {
    const body = await payment()
    spoil(body)
    const { isValid, invalidReason } = await verify(body)
    expect(isValid).toBe(false)
    expect(invalidReason).not.toBe('')
  })
})

describe('4. POST /settle', () => {
  test('takes the request of /verify, with a top-level x402Version or without', async () => {
    for (const changes of [{}, { x402Version: undefined }]) {
      const body = { ...(await payment()), ...changes }
      expect(await verify(body)).toMatchObject({ isValid: true })
      expect(await settle(body)).toMatchObject({ success: true })
    }
    expect(await settle({ ...(await payment()), x402Version: 2 })).toMatchObject({
      success: false,
      errorReason: 'invalid_x402_version',
    })
    for (const x402Version of ['1', null, true, {}, []])
      expect(outcomeOf(await post('/api/v1/settle', { ...(await payment()), x402Version }))).toEqual([
        400,
        'INVALID_REQUEST',
      ])
  })

  test('verifies and broadcasts: the payer’s money is with payTo in the transaction that it answers', async () => {
    const body = await payment()
    const { from } = body.paymentPayload.payload.authorization
    const { transaction } = await settle(body)
    expect(await transfersFrom(rpcUrl, from)).toEqual([
      {
        from: from.toLowerCase(),
        to: body.paymentRequirements.payTo.toLowerCase(),
        value: AMOUNT,
        transaction,
      },
    ])
  })

  test('what verify refuses costs no gas, and what it takes is settled', async () => {
    const bad = inRequirements(await payment(), { maxAmountRequired: '10001' })
    const before = await spent()
    expect([(await verify(bad)).isValid, (await settle(bad)).success]).toEqual([false, false])
    expect(await spent()).toEqual(before)
    const good = await payment()
    expect([(await verify(good)).isValid, (await settle(good)).success]).toEqual([true, true])
  })
})

describe('4. Their answers', () => {
  test('are the results themselves, not wrapped in data', async () => {
    const body = await payment()
    for (const path of paths) {
      const answer = await post(path, body)
      expect([answer.status, isTaken(answer)]).toEqual([200, true])
      expect(answer.body).not.toHaveProperty('data')
      expect(answer.type).toBe('application/json')
    }
  })

  test.each([
    ['no client headers', {}],
    ['a wrong token', { 'X-Client-ID': 'given', 'X-Client-Token': 'wrong' }],
    ['an unknown client', { 'X-Client-ID': 'client_unknown', 'X-Client-Token': 'given' }],
    ['a client id alone', { 'X-Client-ID': 'given' }],
    ['a token alone', { 'X-Client-Token': 'given' }],
  ])('are for client keys only: %s is 401 UNAUTHORIZED, and nothing is done', async (_, shown) => {
    const headers = Object.fromEntries(
      Object.entries(shown).map(([name, value]) => [
        name,
        value === 'given' ? client[name as keyof ClientHeaders] : value,
      ]),
    )
    const body = await payment()
    const before = await spent()
    for (const path of paths) {
      const answer = await facilitator.api.post(path).set(headers).send(body)
      expect(answer.status).toBe(401)
      expect(answer.body).toEqual({ code: 'UNAUTHORIZED', message: text })
    }
    expect(await spent()).toEqual(before)
  })
})

describe('7. Errors', () => {
  test.each([
    ['malformed JSON', '{"paymentPayload":'],
    ['no JSON', 'payment'],
    ['an empty body', ''],
    ['a list', '[]'],
    ['null', 'null'],
    ['no fields', '{}'],
    ['no requirements', '{"paymentPayload":{}}'],
    ['no payload', '{"paymentRequirements":{}}'],
    ['texts for objects', '{"paymentPayload":"x","paymentRequirements":"y"}'],
    ['objects without fields', '{"paymentPayload":{},"paymentRequirements":{}}'],
    ['members of the prototype', '{"__proto__":{"paymentPayload":{},"paymentRequirements":{}}}'],
    ['ten thousand levels', '['.repeat(10_000)],
  ])('INVALID_REQUEST | 400 | malformed JSON or missing required fields: %s', async (_, sent) => {
    for (const path of paths) {
      const answer = await facilitator.api
        .post(path)
        .set({ ...client, 'Content-Type': 'application/json' })
        .send(sent)
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual({ code: 'INVALID_REQUEST', message: text })
    }
  })

  test.each([
    ['what is not base64', '%%%'],
    ['base64 of no JSON', Buffer.from('{').toString('base64')],
    ['base64 of no object', base64(5)],
    ['base64 of another object', base64({ signature: '0x' })],
    ['an object without a signature', {}],
    ['an authorization without fields', { signature: '0x', authorization: {} }],
  ])('INVALID_PAYLOAD | 400 | payment payload could not be decoded: %s', async (_, payload) => {
    const body = inPayload(await payment(), { payload })
    for (const path of paths) {
      const answer = await post(path, body)
      expect(answer.status).toBe(400)
      expect(answer.body).toEqual({ code: 'INVALID_PAYLOAD', message: text })
    }
  })

  test('VERIFICATION_FAILED and SETTLEMENT_FAILED | 500 | tell nothing of what went wrong, and nothing is claimed', async () => {
    const secret = 'https://rpc.example/a-key'
    const broken = await testFacilitator({
      families: faulty(() => ({ payments: { verify: () => Promise.reject(new Error(secret)) } })),
    })
    const headers = await newClient(broken.api)
    const body = await payment()
    for (const [path, code] of [
      ['/api/v1/verify', 'VERIFICATION_FAILED'],
      ['/api/v1/settle', 'SETTLEMENT_FAILED'],
    ] as const) {
      const answer = await broken.api.post(path).set(headers).send(body)
      expect(answer.status).toBe(500)
      expect(answer.body).toEqual({ code, message: text })
      expect(answer.text).not.toContain(secret)
    }
    expect(await broken.database.prisma.settlement.count()).toBe(0)
  })
})

describe('8. Limits', () => {
  test('maxTimeoutSeconds | integer seconds: as few as one, as many as a day', async () => {
    const body = await payment()
    for (const maxTimeoutSeconds of [1, 60, 86_400])
      expect(await verify(inRequirements(body, { maxTimeoutSeconds }))).toMatchObject({ isValid: true })
  })
})

describe('9. Versioning', () => {
  test('the routes are below /api/v1, and at the root for clients of any x402 version', async () => {
    const body = await payment()
    for (const path of ['/api/verify', '/api/settle', '/v1/verify'])
      expect((await post(path, body)).status).toBe(404)
    for (const path of paths) expect(isTaken(await post(path, body))).toBe(true)
    const other = await payment()
    for (const path of ['/verify', '/settle']) expect(isTaken(await post(path, other))).toBe(true)
  })
})
