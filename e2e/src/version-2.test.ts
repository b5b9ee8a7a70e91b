import { decodePaymentRequiredHeader, decodePaymentResponseHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment, x402Client } from '@x402/fetch'
import { privateKeyToAccount } from 'viem/accounts'
import { applyCatalog } from './testing/catalog'
import { call } from './testing/paying'
import { payingClient } from './testing/public-payers'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { blockNumberCall, signIn, walletAt } from './testing/world'

/** A name that is unknown to x402 version 1, for the same chain. */
const HOUSE_CHAIN = 'house-chain'

let world: ObservedWorld
let plan: ObservedWorld['plan']

beforeAll(async () => {
  world = await startObservedWorld({ overrides: { network: () => ({ name: HOUSE_CHAIN }) } })
  plan = { ...world.plan, id: 5, network: HOUSE_CHAIN }
  await applyCatalog(world, { plans: [plan], upstreamUrl: world.infrastructure.rpcUrl })
}, 120_000)

afterAll(() => world.stop(), 30_000)

const entrance = () => ({ ...world, plan })

describe('a plan on a network unknown to x402 version 1', () => {
  test('has an offer that the public version 2 library parses', async () => {
    const { status, headers, body } = await call(world, await signIn(entrance(), walletAt(0)))
    expect(status).toBe(402)
    for (const member of ['accepts', 'x402Version', 'error']) expect(body).not.toHaveProperty(member)
    const required = decodePaymentRequiredHeader(headers.get('payment-required') ?? '')
    expect(PaymentRequiredV2Schema.parse(required)).toEqual(required)
    const offer = {
      scheme: 'exact',
      network: `eip155:${plan.chain_id}`,
      amount: plan.amount,
      asset: plan.asset_address,
      payTo: plan.pay_to,
      maxTimeoutSeconds: 60,
    }
    const extra = { name: 'USDC', version: '2', paymentFlow: 'upfront' }
    expect(required.accepts).toEqual([
      { ...offer, extra },
      { ...offer, extra: { ...extra, assetTransferMethod: 'permit2' } },
    ])
  })

  test.each([
    ['/rpc', JSON.stringify(blockNumberCall)],
    ['/credits', undefined],
  ])(
    'is paid at %s by Permit2, by an unmodified @x402/fetch of a wallet without ether',
    async (path, body) => {
      const payer = await world.newPayer()
      const client = payingClient(payer.privateKey, {
        rpcUrl: world.infrastructure.rpcUrl,
        select: (_version, accepts) =>
          accepts.find(({ extra }) => extra['assetTransferMethod'] === 'permit2') ?? accepts[0]!,
      })
      const authorization = `Bearer ${await signIn(entrance(), payer)}`
      const headers = { authorization, 'content-type': 'application/json' }
      const answer = await wrapFetchWithPayment(fetch, client)(`${world.gateway.url}${path}`, {
        method: 'POST',
        headers,
        ...(body === undefined ? {} : { body }),
      })
      expect(answer.status).toBe(200)
      const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')
      expect(await world.token.transfersOf(receipt.transaction, payer.address)).toEqual([
        { from: payer.address, to: plan.pay_to, value: BigInt(plan.amount) },
      ])
    },
  )

  test('is paid once by an unmodified version 2 @x402/fetch, and the call is served', async () => {
    const { address, privateKey } = walletAt(1)
    const client = new x402Client()
    client.register('eip155:*', new ExactEvmScheme(privateKeyToAccount(privateKey as `0x${string}`)))
    const answer = await wrapFetchWithPayment(fetch, client)(`${world.gateway.url}/rpc`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await signIn(entrance(), walletAt(1))}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify(blockNumberCall),
    })
    expect([answer.status, await answer.json()]).toEqual([
      200,
      expect.objectContaining({ id: 7, result: expect.any(String) as string }),
    ])
    const receipt = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')
    expect(receipt).toMatchObject({ success: true, network: `eip155:${plan.chain_id}`, payer: address })
    expect(await world.token.transfersOf(receipt.transaction, address)).toEqual([
      { from: address, to: plan.pay_to, value: BigInt(plan.amount) },
    ])
    expect(await world.creditsOf(address)).toEqual([
      { pricing_plan_id: plan.id, remaining_credits: plan.credits - 1 },
    ])
  })
})
