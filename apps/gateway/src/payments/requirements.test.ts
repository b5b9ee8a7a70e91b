import { decodeJson, PaymentRequiredV2 } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { declareGasSponsoring } from '../extensions/gas-sponsoring'
import { cosmosPlanOf, planOf } from '../testing/catalog'
import { cosmosFeePayer } from '../testing/facilitator'
import { testGateway, type TestGateway } from '../testing/gateway'
import { usdc } from '../testing/payment'
import { createCall } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(
    planOf({ id: 2, network: 'house-chain', chain_id: '777' }),
    cosmosPlanOf({ id: 3 }),
  )
  await gateway.reapply()
})
afterAll(closeAll)

describe('a call without credits', () => {
  const requirements = {
    scheme: 'exact',
    network: '84532',
    asset: usdc,
    maxAmountRequired: '10000',
    mimeType: 'application/json',
    payTo: planOf().pay_to,
    maxTimeoutSeconds: 60,
    description: '100 credits for RPC calls (plan Starter)',
  }

  test('is answered 402 with our requirements and those of x402 version 1, not cacheable', async () => {
    const { call } = await gateway.wallet().signIn()
    const asked = gateway.upstream.requests.length
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers['content-type']).toMatch(/^application\/json/)
    expect(answer.body).toEqual({
      status: 402,
      message: 'No credits left on plan 1; pay 0.01 USDC and send the signed payment in X-PAYMENT',
      paymentRequirements: requirements,
      x402Version: 1,
      error: 'X-PAYMENT header is required',
      accepts: [
        {
          ...requirements,
          network: 'base-sepolia',
          resource: 'https://gateway.example/rpc',
          extra: { name: 'USDC', version: '2' },
        },
      ],
    })
    expect(gateway.upstream.requests).toHaveLength(asked)
  })

  const others = [
    ['a network that x402 version 1 does not know', { pricing_plan_id: 2, x402_chain_id: '777' }, '777'],
    [
      'another ecosystem',
      { pricing_plan_id: 3, x402_chain_id: 'osmosis-1', x402_ecosystem: 'cosmos' },
      'osmosis-1',
    ],
  ] as const
  test.each(others)(
    'on a plan of %s is not offered in a form that its clients cannot parse',
    async (_, login, network) => {
      const { call } = await gateway.wallet().signIn(login)
      const answer = await call()
      expect(answer.status).toBe(402)
      expect(answer.body).toMatchObject({ status: 402, paymentRequirements: { network } })
      for (const member of ['accepts', 'x402Version', 'error']) expect(answer.body).not.toHaveProperty(member)
    },
  )

  const offer = {
    scheme: 'exact',
    network: 'eip155:84532',
    amount: '10000',
    asset: usdc,
    payTo: planOf().pay_to,
    maxTimeoutSeconds: 60,
    extra: { name: 'USDC', version: '2', paymentFlow: 'upfront' },
  }
  const byPermit2 = (entry: typeof offer) => ({
    ...entry,
    extra: { ...entry.extra, assetTransferMethod: 'permit2' },
  })
  const elsewhere = { ...offer, network: 'eip155:777' }
  const { asset_address, pay_to } = cosmosPlanOf()
  test.each([
    ['that all of its clients know', {}, [offer, byPermit2(offer)]],
    ['that those of version 1 do not know', others[0][1], [elsewhere, byPermit2(elsewhere)]],
    [
      'on which the payer chooses who bears the fee',
      others[1][1],
      [
        {
          ...offer,
          network: 'cosmos:osmosis-1',
          asset: asset_address,
          payTo: pay_to,
          extra: { feePayer: cosmosFeePayer, feePayerSigns: true, paymentFlow: 'upfront' },
        },
      ],
    ],
  ])('on a network %s is offered the plan in x402 version 2', async (_, login, accepted) => {
    const { call } = await gateway.wallet().signIn(login)
    const { status, headers } = await call()
    expect([status, decodeJson(String(headers['payment-required']))]).toEqual([
      402,
      {
        x402Version: 2,
        error: 'PAYMENT-SIGNATURE header is required',
        resource: {
          url: 'https://gateway.example/rpc',
          description: '100 credits for RPC calls (plan Starter)',
          mimeType: 'application/json',
        },
        accepts: accepted,
        ...(accepted.length > 1 ? { extensions: declareGasSponsoring(accepted) } : {}),
      },
    ])
  })
})

test('the fee payer is named while the facilitator is unavailable, and omitted if it never responded', async () => {
  const another = await testGateway({ beside: gateway })
  gateway.facilitator.disconnect()
  gateway.clock.advance(60)
  const wallet = gateway.wallet()
  const { token } = await wallet.signIn({
    pricing_plan_id: 3,
    x402_chain_id: 'osmosis-1',
    x402_ecosystem: 'cosmos',
  })
  const feePayerAt = async ({ api }: TestGateway) => {
    const { headers } = await createCall(api, token)().expect(402)
    return PaymentRequiredV2.parse(decodeJson(String(headers['payment-required']))).accepts[0]!.extra?.[
      'feePayer'
    ]
  }
  expect(await feePayerAt(gateway)).toBe(cosmosFeePayer)
  expect(await feePayerAt(another)).toBeUndefined()
  gateway.facilitator.reconnect()
  // An unanswered request may be in progress again; a 402 waits for it only briefly.
  let feePayer: Awaited<ReturnType<typeof feePayerAt>>
  while (!(feePayer = await feePayerAt(another)));
  expect(feePayer).toBe(cosmosFeePayer)
})

test('a 402 does not wait for the timeout of a facilitator that never responded', async () => {
  const another = await testGateway({ beside: gateway })
  const answer = gateway.facilitator.hold()
  const { token } = await gateway.wallet().signIn({
    pricing_plan_id: 3,
    x402_chain_id: 'osmosis-1',
    x402_ecosystem: 'cosmos',
  })
  await createCall(another.api, token)().expect(402)
  another.log.logger.info('answered')
  await another.log.line('answered')
  const said = another.log.lines().map(({ message }) => message)
  expect(said).not.toContain('facilitator support query failed')
  answer()
})
