import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { decodeJson, encodeJson, PaymentRequiredV2, SettleResult, SupportedKinds } from '@tollgate/protocol'
import { StargateClient } from '@cosmjs/stargate'
import { decodePaymentRequiredHeader } from '@x402/core/http'
import { PaymentRequiredV2Schema } from '@x402/core/schemas'
import { queryNode } from './testing/query-node'
import { openCosmosSession } from './testing/cosmos-session'
import { COSMOS_FEE, newCosmosWallet } from './testing/cosmos-wallet'
import { until } from './testing/paying'
import { plainBlockNumber, plainUrl, postJson } from './testing/plain-calls'
import { startWorld, type World } from './testing/world'

let world: World
let chain: StargateClient

beforeAll(async () => {
  world = await startWorld()
  chain = await StargateClient.connect(world.infrastructure.cosmos.rpcUrl)
}, 120_000)

afterAll(async () => {
  chain.disconnect()
  await world.stop()
}, 30_000)

const held = async (address: string) => BigInt((await chain.getBalance(address, 'uatom')).amount)
const price = () => BigInt(world.cosmosPlan.amount)

async function feePayer(): Promise<string> {
  const answer: unknown = await (await fetch(`${world.facilitator.url}/api/v1/networks`)).json()
  const kind = SupportedKinds.parse(answer).kinds.find(({ network }) => network === world.cosmosPlan.network)
  if (!kind) throw new Error('The facilitator serves no Cosmos network')
  return kind.feePayer
}

async function customer(money: bigint) {
  const wallet = await newCosmosWallet()
  if (money > 0n) await fundCosmosWallet(world.infrastructure.cosmos.rpcUrl, wallet.address, `${money}uatom`)
  const { token } = await openCosmosSession({ ...world, plan: world.cosmosPlan }, wallet)
  const call = async (headers: Record<string, string> = {}) => {
    const answer = await fetch(`${world.gateway.url}/rpc`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({
        ecosystem: 'cosmos',
        chain_id: world.cosmosPlan.chain_id,
        resource: '',
        method: 'POST',
        transport: 'rpc',
        payload: { jsonrpc: '2.0', id: 7, method: 'status', params: {} },
      }),
    })
    return { status: answer.status, headers: answer.headers, body: (await answer.json()) as object }
  }
  const terms = { payTo: world.cosmosPlan.pay_to, amount: price() }
  return {
    ...wallet,
    call,
    sign: async (options: Parameters<typeof wallet.pay>[2] = {}, changes: Partial<typeof terms> = {}) => {
      const { payload } = await wallet.pay(chain, { ...terms, ...changes }, options)
      const network = world.cosmosPlan.chain_id
      const paymentPayload = { x402Version: 1, scheme: 'exact', network, payload }
      return encodeJson({ paymentPayload, paymentRequirements: {} })
    },
    held: () => held(wallet.address),
    credits: async () => (await fetch(`${world.gateway.url}/credits/${wallet.address}`)).json(),
  }
}

const creditsOf = (remaining: number) => [
  { pricing_plan_id: world.cosmosPlan.id, remaining_credits: remaining },
]
const receiptIn = (headers: Headers) =>
  SettleResult.parse(decodeJson(headers.get('x-payment-response') ?? ''))

async function expectServed(
  { address }: { address: string },
  answer: { status: number; headers: Headers; body: object },
) {
  expect([answer.status, answer.body]).toMatchObject([200, { id: 7, result: { node_info: {} } }])
  const receipt = receiptIn(answer.headers)
  expect(receipt).toMatchObject({ success: true, network: world.cosmosPlan.network, payer: address })
  const sent = await chain.searchTx([{ key: 'message.sender', value: address }])
  expect(sent.map(({ hash, code, height }) => [hash, code, height])).toEqual([
    [receipt.transaction, 0, receipt.blockNumber],
  ])
}

describe.each(['direct', 'amino'] as const)('a Cosmos wallet that signs as %s', (mode) => {
  test('signs in, is asked to pay, pays with its own fee, and is served', async () => {
    const { cosmosPlan } = world
    const money = price() + COSMOS_FEE + 1n
    const payer = await customer(money)
    const paid = await held(cosmosPlan.pay_to)

    const asked = await payer.call()
    expect([asked.status, asked.body]).toMatchObject([
      402,
      { paymentRequirements: { network: cosmosPlan.chain_id, maxAmountRequired: cosmosPlan.amount } },
    ])
    for (const member of ['accepts', 'x402Version', 'error']) expect(asked.body).not.toHaveProperty(member)

    await expectServed(payer, await payer.call({ 'x-payment': await payer.sign({ mode }) }))
    expect([await payer.held(), (await held(cosmosPlan.pay_to)) - paid]).toEqual([1n, price()])
    expect(await payer.credits()).toEqual(creditsOf(cosmosPlan.credits - 1))
  })

  test('pays with only the price in its account: the facilitator pays the fee', async () => {
    const { cosmosPlan } = world
    const payer = await customer(price())
    const granter = await feePayer()
    const [paid, granterBefore] = [await held(cosmosPlan.pay_to), await held(granter)]

    await expectServed(payer, await payer.call({ 'x-payment': await payer.sign({ mode, granter }) }))
    expect([await payer.held(), (await held(cosmosPlan.pay_to)) - paid]).toEqual([0n, price()])
    const cost = granterBefore - (await held(granter))
    expect([cost >= COSMOS_FEE, cost <= 3n * COSMOS_FEE]).toEqual([true, true])
    expect(await payer.credits()).toEqual(creditsOf(cosmosPlan.credits - 1))
  })
})

describe('the offer to a Cosmos wallet', () => {
  test('is parsed by the public version 2 library, names the fee payer, and is accepted in PAYMENT-SIGNATURE', async () => {
    const { cosmosPlan } = world
    const payer = await customer(price())
    const { headers } = await payer.call()
    const required = decodePaymentRequiredHeader(headers.get('payment-required') ?? '')
    expect(PaymentRequiredV2Schema.parse(required)).toEqual(required)
    const [accepted] = PaymentRequiredV2.parse(required).accepts
    expect(accepted).toEqual({
      scheme: 'exact',
      network: `cosmos:${cosmosPlan.chain_id}`,
      amount: cosmosPlan.amount,
      asset: cosmosPlan.asset_address,
      payTo: cosmosPlan.pay_to,
      maxTimeoutSeconds: 60,
      extra: { feePayer: await feePayer(), feePayerSigns: true, paymentFlow: 'upfront' },
    })

    const granter = String(accepted!.extra!['feePayer'])
    const { payload } = await payer.pay(chain, { payTo: accepted!.payTo, amount: price() }, { granter })
    const signature = encodeJson({ x402Version: 2, resource: required.resource, accepted, payload })
    const answer = await payer.call({ 'payment-signature': signature })
    await expectServed(payer, answer)
    expect(decodeJson(answer.headers.get('payment-response') ?? '')).toMatchObject({
      success: true,
      network: `cosmos:${cosmosPlan.chain_id}`,
    })
  })
})

describe('a payment of a Cosmos wallet', () => {
  test('is one purchase in twenty concurrent calls, also when repeated', async () => {
    const { cosmosPlan } = world
    const payer = await customer(10n * price())
    const payment = await payer.sign({ granter: await feePayer() })
    const answers = await Promise.all(Array.from({ length: 20 }, () => payer.call({ 'x-payment': payment })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    await expectServed(payer, await payer.call({ 'x-payment': payment }))
    expect(await payer.held()).toBe(9n * price())
    expect(await payer.credits()).toEqual(creditsOf(cosmosPlan.credits - 21))
  })

  test('of another wallet buys nothing, and remains valid for its owner', async () => {
    const [owner, thief] = [await customer(2n * price()), await customer(0n)]
    const payment = await owner.sign({ granter: await feePayer() })
    expect((await thief.call({ 'x-payment': payment })).status).toBe(402)
    expect([await thief.credits(), await owner.held()]).toEqual([[], 2n * price()])
    await expectServed(owner, await owner.call({ 'x-payment': payment }))
  })

  test('above its balance is refused and costs nothing; once funded, the same one is accepted', async () => {
    const payer = await customer(price() - 1n)
    const granter = await feePayer()
    const granterBefore = await held(granter)
    const payment = await payer.sign({ granter })
    const refused = await payer.call({ 'x-payment': payment })
    expect([refused.status, receiptIn(refused.headers)]).toMatchObject([
      402,
      { success: false, errorReason: 'insufficient_funds', transaction: '' },
    ])
    expect([await payer.held(), await held(granter)]).toEqual([price() - 1n, granterBefore])

    await fundCosmosWallet(world.infrastructure.cosmos.rpcUrl, payer.address, '1uatom')
    await expectServed(payer, await payer.call({ 'x-payment': payment }))
    expect(await payer.held()).toBe(0n)
  })

  test.each<[string, (payer: { address: string }) => Partial<{ amount: bigint; payTo: string }>]>([
    ['pays less', () => ({ amount: price() - 1n })],
    ['pays more', () => ({ amount: price() + 1n })],
    ['pays itself', ({ address }) => ({ payTo: address })],
  ])('that %s is refused, and nothing moves', async (_, changes) => {
    const payer = await customer(10n * price())
    const payment = await payer.sign({ granter: await feePayer() }, changes(payer))
    expect((await payer.call({ 'x-payment': payment })).status).toBe(402)
    expect([await payer.held(), await payer.credits()]).toEqual([10n * price(), []])
  })

  test('that expired unmined leaves its sequence to the next one, which buys', async () => {
    const payer = await customer(price())
    const node = (method: string, ...params: string[]) =>
      queryNode(world.infrastructure.cosmos.rpcUrl, method, params)
    const waiting = async () => ((await node('num_unconfirmed_txs')) as { n_txs: string }).n_txs
    const granter = await feePayer()
    const timeoutHeight = BigInt((await chain.getHeight()) + 30)
    const expiring = await payer.sign({ granter, timeoutHeight })
    await node('dev_setPace', 'stopped')
    const asked = payer.call({ 'x-payment': expiring })
    try {
      await until(waiting, (count) => count === '1')
      // The allowance is mined, the payment is not.
      await node('dev_mine', '1')
      await until(waiting, (count) => count === '1')
      await node('dev_dropPending')
      await node('dev_mine', '40')
    } finally {
      await node('dev_setPace', 'by-interval')
    }
    await asked
    const refused = await until(
      () => payer.call({ 'x-payment': expiring }),
      ({ status }) => status !== 503,
    )
    expect([refused.status, receiptIn(refused.headers).errorReason]).toEqual([402, 'payment_expired'])

    await expectServed(payer, await payer.call({ 'x-payment': await payer.sign({ granter }) }))
    expect(await payer.held()).toBe(0n)
  })

  test('that its payer has broadcast, as the procedure of a 402 says, is served for the proof of it, and bought once', async () => {
    const { cosmosPlan } = world
    const payer = await customer(price() + COSMOS_FEE)
    const payment = await payer.sign()
    const { paymentPayload } = decodeJson(payment) as { paymentPayload: { payload: string } }
    const { payment: signed } = decodeJson(paymentPayload.payload) as { payment: { txBase64: string } }
    const { transactionHash } = await chain.broadcastTx(Buffer.from(signed.txBase64, 'base64'), 20_000, 20)
    const served = await payer.call({ 'x-payment': payment })
    await expectServed(payer, served)
    expect(receiptIn(served.headers)).toMatchObject({ transaction: transactionHash })
    expect((await payer.call({ 'x-payment': payment })).status).toBe(200)
    expect([await payer.held(), await payer.credits()]).toEqual([0n, creditsOf(cosmosPlan.credits - 2)])
  })
})

describe('a Cosmos wallet that never signed in', () => {
  const urlOf = ({ chain_id }: { chain_id: string }) => plainUrl(world, chain_id)
  const statusCall = { jsonrpc: '2.0', id: 7, method: 'status', params: {} }

  /** Takes the terms of the payment from the 402 of `url`. */
  async function payer(url: string) {
    const wallet = await newCosmosWallet()
    await fundCosmosWallet(world.infrastructure.cosmos.rpcUrl, wallet.address, `${price()}uatom`)
    const { headers } = await fetch(url)
    const { resource, accepts } = PaymentRequiredV2.parse(decodeJson(headers.get('payment-required') ?? ''))
    const accepted = accepts.find(({ network }) => network.startsWith('cosmos:'))
    const granter = String(accepted?.extra?.['feePayer'])
    const terms = { payTo: accepted!.payTo, amount: BigInt(accepted!.amount), denom: accepted!.asset }
    const { payload } = await wallet.pay(chain, terms, { granter })
    const { network } = world.cosmosPlan
    return {
      address: wallet.address,
      'payment-signature': encodeJson({ x402Version: 2, resource, accepted, payload }),
      'x-payment': encodeJson({ x402Version: 1, scheme: 'exact', network, payload }),
      credits: async () => (await fetch(`${world.gateway.url}/credits/${wallet.address}`)).json(),
    }
  }

  test.each(['payment-signature', 'x-payment'] as const)(
    'pays for one call to its chain in %s, and is refused another',
    async (name) => {
      const url = urlOf(world.cosmosPlan)
      const { address, credits, ...headers } = await payer(url)
      const send = () => postJson(url, statusCall, { [name]: headers[name] })
      const answer = await send()
      const { status } = answer
      await expectServed(
        { address },
        { status, headers: answer.headers, body: (await answer.json()) as object },
      )

      const again = await until(send, (repeated) => repeated.status !== 503)
      expect([again.status, receiptIn(again.headers).errorReason]).toEqual([402, 'duplicate_settlement'])
      expect([await held(address), await credits()]).toEqual([0n, creditsOf(world.cosmosPlan.credits - 1)])
    },
  )

  test('pays for a call to an EVM chain', async () => {
    const url = urlOf(world.plan)
    const { address, 'payment-signature': payment } = await payer(url)
    const answer = await postJson(url, plainBlockNumber, { 'payment-signature': payment })
    expect([answer.status, await answer.json()]).toMatchObject([
      200,
      { id: 7, result: expect.stringMatching(/^0x/) as string },
    ])
    expect(await held(address)).toBe(0n)
  })
})
