import { encodeJson } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { request } from 'undici'
import { balanceOf } from '../testing/accounts'
import { planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { blockNumber, post } from '../testing/plain'
import { signPayment, x402, type SignedPayment } from '../testing/payment'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

async function payer() {
  const wallet = gateway.wallet()
  const payment = await signPayment(wallet.signer, { payTo: planOf().pay_to, amount: planOf().amount })
  return { ...(await wallet.signIn()), payment, credits: () => balanceOf(gateway.ledger, wallet.address) }
}

const cheaper = {
  scheme: 'exact',
  network: 'base-sepolia',
  maxAmountRequired: '1',
  resource: 'https://evil.example',
  description: '',
  mimeType: '',
  payTo: '0x0000000000000000000000000000000000000001',
  maxTimeoutSeconds: 60,
  asset: '0x0000000000000000000000000000000000000001',
}
const forms: [string, (payment: SignedPayment) => string][] = [
  ['the x402 payload in base64', (payment) => encodeJson(x402(payment))],
  [
    'the x402 payload in base64url',
    (payment) => Buffer.from(JSON.stringify(x402(payment))).toString('base64url'),
  ],
  ['the x402 payload as JSON', (payment) => JSON.stringify(x402(payment))],
  [
    'the x402 payload with its inner part in base64',
    (payment) => encodeJson({ ...x402(payment), payload: encodeJson(payment) }),
  ],
  ['the signed authorization in base64', (payment) => encodeJson(payment)],
  ['the signed authorization as JSON', (payment) => JSON.stringify(payment)],
  [
    'the payload and its requirements',
    (payment) => encodeJson({ paymentPayload: x402(payment), paymentRequirements: cheaper }),
  ],
  ['a typed payload', (payment) => encodeJson({ type: 'eip3009', eip3009: payment })],
]

describe('X-PAYMENT', () => {
  test.each(forms)('may be %s', async (_, encode) => {
    const { call, payment, credits } = await payer()
    await call({ payment: encode(payment) }).expect(200)
    expect(await credits()).toBe(99n)
    expect(gateway.facilitator.settlements.at(-1)!.request.paymentRequirements).toMatchObject({
      maxAmountRequired: '10000',
      payTo: planOf().pay_to,
      asset: planOf().asset_address,
    })
  })

  test('in another form is the same payment', async () => {
    const { call, payment, credits } = await payer()
    const settled = gateway.facilitator.settlements.length
    for (const [, encode] of forms) await call({ payment: encode(payment) }).expect(200)
    expect(gateway.facilitator.settlements).toHaveLength(settled + 1)
    expect(await credits()).toBe(100n - BigInt(forms.length))
  })

  const withAuthorization = (changes: object) => (payment: SignedPayment) =>
    encodeJson(x402({ ...payment, authorization: { ...payment.authorization, ...changes } }))
  const withMember = (value: unknown) => (payment: SignedPayment) =>
    encodeJson({ ...x402(payment), payload: { ...payment, note: value } })
  const nested = (depth: number) => (payment: SignedPayment) =>
    withNote(payment).replace('"note":0', `"note":${'['.repeat(depth)}${']'.repeat(depth)}`)
  const withNote = (payment: SignedPayment) =>
    JSON.stringify({ ...x402(payment), payload: { ...payment, note: 0 } })

  const hostile: [string, (payment: SignedPayment) => string][] = [
    ['no base64', () => 'not base64!'],
    ['base64 of no JSON', () => Buffer.from('hello').toString('base64')],
    ['base64 of no UTF-8', () => Buffer.from('"\xff\xfe"', 'latin1').toString('base64')],
    ['base64 of a list', () => encodeJson([])],
    ['base64 of a number', () => encodeJson(5)],
    ['base64 of null', () => encodeJson(null)],
    ['half of a JSON text', () => '{"x402Version":1'],
    ['an empty object', () => '{}'],
    ['a payload that is a number', (payment) => encodeJson({ ...x402(payment), payload: 5 })],
    [
      'a payload without a signature',
      ({ authorization }) => encodeJson({ ...x402({} as SignedPayment), payload: { authorization } }),
    ],
    ['a version that is a text', (payment) => encodeJson({ ...x402(payment), x402Version: '1' })],
    ...[
      '1e4',
      '0x2710',
      ' 10000 ',
      '-0',
      '+10000',
      '10000.0',
      '１００００',
      `1${'0'.repeat(80)}`,
      '',
      '010000',
    ].map((value): [string, (payment: SignedPayment) => string] => [
      `an amount written ${JSON.stringify(value)}`,
      withAuthorization({ value }),
    ]),
    ['an amount as a number', withAuthorization({ value: 10000 })],
    ['an amount beyond all numbers', withAuthorization({ value: 1e300 })],
    ['a payer that is not an address', withAuthorization({ from: 'alice' })],
    ['a nonce that is too short', withAuthorization({ nonce: '0x12' })],
    ['a NUL', withMember('a\u0000b')],
    ['a NUL in a name', withMember({ 'a\u0000b': 1 })],
    ['half a character', withMember('\ud800')],
    ['a member twice', (payment) => withNote(payment).replace('"note":0', '"note":0,"note":1')],
    ['lists in lists, a hundred deep', nested(100)],
    ['lists in lists, deeper than a stack', nested(5_000)],
    ['more than any payment', withMember('x'.repeat(16_000))],
  ]
  test.each(hostile)('that contains %s is 400, and nothing is charged', async (_, encode) => {
    const { call, payment, credits } = await payer()
    const asked = gateway.facilitator.calls.length
    expect(outcomeOf(await call({ payment: encode(payment) }))).toEqual([400, 'INVALID_REQUEST'])
    expect([await credits(), gateway.facilitator.calls.length]).toEqual([0n, asked])
  })

  test('that is empty is absent', async () => {
    const { call } = await payer()
    expect((await call({ payment: '' })).status).toBe(402)
  })

  test('sent twice is 400 if the two differ, and one payment otherwise', async () => {
    const { token, payment } = await payer()
    const post = async (...proofs: string[]) => {
      const { statusCode } = await request(`${gateway.url}/rpc`, {
        method: 'POST',
        headers: [
          ...['authorization', `Bearer ${token}`, 'content-type', 'application/json'],
          ...proofs.flatMap((proof) => ['X-PAYMENT', proof]),
        ],
        body: JSON.stringify({
          ecosystem: 'evm',
          chain_id: '84532',
          resource: '',
          method: 'POST',
          transport: 'rpc',
          payload: {},
        }),
      })
      return statusCode
    }
    const proof = encodeJson(x402(payment))
    expect(await post(proof, encodeJson(payment))).toBe(400)
    expect(gateway.facilitator.calls.map(({ request: asked }) => JSON.stringify(asked)).join()).not.toContain(
      payment.signature,
    )
    expect(await post(proof, proof)).toBe(200)
  })
})

test('a payment of 20 kB, with the signatures of ten owners, is paid, and above 24 KiB of headers the answer is 431', async () => {
  const { address } = gateway.wallet()
  gateway.facilitator.contractWallets.add(address)
  const signedBy = async (bytes: number) => {
    const signed = await signPayment(gateway.wallet().signer, planTerms)
    const authorization = { ...signed.authorization, from: address }
    return { 'x-payment': encodeJson(x402({ signature: `0x${'5a'.repeat(bytes)}`, authorization })) }
  }
  const largest = await signedBy(7_300)
  expect(largest['x-payment'].length).toBeGreaterThan(19_900)
  await post(gateway.api, '/v1/84532', blockNumber, largest).expect(200)
  await post(gateway.api, '/v1/84532', blockNumber, await signedBy(7_800)).expect(400)
  await post(gateway.api, '/v1/84532', blockNumber, await signedBy(9_400)).expect(431)
})
const planTerms = { payTo: planOf().pay_to, amount: planOf().amount }
