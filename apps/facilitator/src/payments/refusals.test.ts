import { type SettleResult } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { newPayer, sharedChain } from '../testing/chain'
import { type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { facilitatorWithClient } from '../testing/facilitator-with-client'
import { AMOUNT, inSeconds, paymentRequest, type PaymentRequest } from '../testing/payment'

const rpcUrl = sharedChain()
let facilitator: TestFacilitator
let client: ClientHeaders
let sent: () => Promise<number>

beforeAll(async () => {
  ;({ facilitator, client, sent } = await facilitatorWithClient())
})
afterAll(closeAll)

const claimCount = () => facilitator.database.prisma.settlement.count()

async function settle(body: PaymentRequest): Promise<SettleResult> {
  const answer = await facilitator.api.post('/api/v1/settle').set(client).send(body).expect(200)
  return answer.body as SettleResult
}

describe('POST /settle', () => {
  describe('refuses, sends nothing and claims nothing:', () => {
    const other = Wallet.createRandom()
    type Change = (body: PaymentRequest) => unknown
    const cases: [string, string, Change][] = [
      ['another version', 'invalid_x402_version', ({ paymentPayload }) => (paymentPayload.x402Version = 2)],
      ['another version beside the payload', 'invalid_x402_version', (body) => (body.x402Version = 2)],
      ['another scheme', 'unsupported_scheme', ({ paymentPayload }) => (paymentPayload.scheme = 'upto')],
      ['an unknown network', 'invalid_network', (body) => setNetwork(body, 'base')],
      [
        'a payload of another network',
        'invalid_network',
        ({ paymentPayload }) => (paymentPayload.network = 'base'),
      ],
      [
        'an asset that is not registered',
        'invalid_payment_requirements',
        ({ paymentRequirements }) => (paymentRequirements.asset = other.address),
      ],
      [
        'an asset that is no address',
        'invalid_payment_requirements',
        ({ paymentRequirements }) => (paymentRequirements.asset = 'usdc\u0000'),
      ],
      [
        'a payTo that is no address',
        'invalid_payment_requirements',
        ({ paymentRequirements }) => (paymentRequirements.payTo = 'me\u0000'),
      ],
      [
        'a requirement of nothing',
        'invalid_payment_requirements',
        ({ paymentRequirements }) => (paymentRequirements.maxAmountRequired = '0'),
      ],
      [
        'one unit more than was signed',
        'invalid_exact_evm_payload_authorization_value',
        ({ paymentRequirements }) => (paymentRequirements.maxAmountRequired = '10001'),
      ],
      [
        'one unit less than was signed',
        'invalid_exact_evm_payload_authorization_value',
        ({ paymentRequirements }) => (paymentRequirements.maxAmountRequired = '9999'),
      ],
      [
        'another recipient',
        'invalid_exact_evm_payload_recipient_mismatch',
        ({ paymentRequirements }) => (paymentRequirements.payTo = other.address),
      ],
      [
        'another EIP-712 domain than the token has',
        'invalid_payment_requirements',
        ({ paymentRequirements }) => (paymentRequirements.extra = { name: 'USD Coin', version: '2' }),
      ],
      [
        'a signature of another account',
        'invalid_exact_evm_payload_signature',
        ({ paymentPayload }) => (paymentPayload.payload.authorization.from = other.address),
      ],
    ]
    const setNetwork = (body: PaymentRequest, network: string) =>
      (body.paymentPayload.network = body.paymentRequirements.network = network)

    test.each(cases)('%s (%s)', async (_name, reason, change) => {
      const body = await paymentRequest(await newPayer(rpcUrl))
      change(body)
      const before = await sent()
      const claims = await claimCount()

      expect(await settle(body)).toMatchObject({
        success: false,
        errorReason: reason,
        payer: '',
        blockNumber: 0,
      })
      const verified = await facilitator.api.post('/api/v1/verify').set(client).send(body).expect(200)
      expect(verified.body).toMatchObject({
        isValid: false,
        invalidReason: reason,
        payer: '',
        cachedResult: false,
      })

      expect(await sent()).toBe(before)
      expect(await claimCount()).toBe(claims)
    })

    test.each([1, 3, 5])('an authorization that ends in %s s', async (seconds) => {
      const body = await paymentRequest(await newPayer(rpcUrl), {
        authorization: { validBefore: inSeconds(seconds) },
      })
      expect(await settle(body)).toMatchObject({
        success: false,
        errorReason: 'invalid_exact_evm_payload_authorization_valid_before',
      })
    })

    test('a payer without the money', async () => {
      const body = await paymentRequest(await newPayer(rpcUrl, AMOUNT - 1n))
      expect(await settle(body)).toMatchObject({ success: false, errorReason: 'insufficient_funds' })
    })
  })

  test.each<[string, object]>([
    ['a payload that is not base64', { payload: '%%%' }],
    ['a payload that is no payment', { payload: { signature: '0x', authorization: {} } }],
    ['base64 of no JSON', { payload: Buffer.from('{').toString('base64') }],
  ])('answers 400 INVALID_PAYLOAD to %s', async (_name, changes) => {
    const body = await paymentRequest(await newPayer(rpcUrl))
    const answer = await facilitator.api
      .post('/api/v1/settle')
      .set(client)
      .send({ ...body, paymentPayload: { ...body.paymentPayload, ...changes } })
    expect([answer.status, (answer.body as { code: string }).code]).toEqual([400, 'INVALID_PAYLOAD'])
  })

  test.each(['1e4', '0x10', ' 10 ', '-0', '+5', '1.0', '１０', '1'.repeat(80), 10_000])(
    'answers 400 INVALID_REQUEST to the amount %p',
    async (maxAmountRequired) => {
      const body = await paymentRequest(await newPayer(rpcUrl))
      const answer = await facilitator.api
        .post('/api/v1/settle')
        .set(client)
        .send({ ...body, paymentRequirements: { ...body.paymentRequirements, maxAmountRequired } })
      expect([answer.status, (answer.body as { code: string }).code]).toEqual([400, 'INVALID_REQUEST'])
    },
  )
})
