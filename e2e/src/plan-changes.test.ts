import { USDC_ADDRESS } from '@tollgate/devnet'
import { createTollgate, memoryStorage } from '@tollgate/wallet'
import { wrapFetchWithPayment } from '@x402/fetch'
import { type HDNodeWallet } from 'ethers'
import { COUNTED_CHAIN } from './testing/callers'
import { applyCatalog } from './testing/catalog'
import { expectPaidOnce, expectUsed } from './testing/expect-payment'
import { killGateway } from './testing/kill-gateway'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { signFor, until } from './testing/paying'
import { plainBlockNumber, plainUrl, postJson, postOf } from './testing/plain-calls'
import { payingClient, paymentIn, recording } from './testing/public-payers'
import { startCountingUpstream, type CountingUpstream } from './testing/upstream'

const CHAIN = 'eip155:84532'

let world: ObservedWorld
let upstream: CountingUpstream
let url: string
beforeAll(async () => {
  world = await startObservedWorld()
  upstream = await startCountingUpstream()
  url = plainUrl(world, world.plan.chain_id)
}, 120_000)
afterAll(async () => {
  upstream.stop()
  await world.stop()
}, 30_000)

type Plan = ObservedWorld['plan']

/** Two plans of one price, chain and asset. */
const twins = (): [Plan, Plan] => [
  { ...world.plan, id: 4, amount: '20000', credits: 50 },
  { ...world.plan, id: 5, amount: '20000', credits: 200 },
]

/** Sells these plans besides those of the world, and retires all others. */
const sell = (plans: Plan[]) => applyCatalog(world, { plans, upstreamUrl: upstream.url })

const send = (payment: string, json: object = plainBlockNumber, at = url) =>
  postJson(at, json, { 'x-payment': payment })

/** One transfer and one grant, of the plan; the payment serves no second call. */
async function expectBought(plan: Plan, { address }: HDNodeWallet, payment: Record<string, string>) {
  await expectUsed(world, { url, json: plainBlockNumber, payment })
  await expectPaidOnce(world, address, { plan })
}

describe('two plans of one price, chain and asset', () => {
  test('on sale: the one with the lower id is bought, in either version', async () => {
    const [lower, higher] = twins()
    await sell([lower, higher])
    const first = await world.newPayer()
    const payment = await signFor(url, first, lower)
    expect((await send(payment)).status).toBe(200)
    await expectBought(lower, first, { 'x-payment': payment })

    const second = await world.newPayer()
    const sent: Headers[] = []
    const client = payingClient(second.privateKey, {
      select: (_version, accepts) => accepts.find(({ amount }) => amount === lower.amount)!,
    })
    expect((await wrapFetchWithPayment(recording(sent), client)(url, postOf(plainBlockNumber))).status).toBe(
      200,
    )
    await expectBought(lower, second, paymentIn(sent))
  })

  test('of which one is retired between the 402 and the payment: the other one is bought', async () => {
    const [lower, higher] = twins()
    await sell([lower, higher])
    const payer = await world.newPayer()
    const payment = await signFor(url, payer, lower)
    await sell([higher])
    expect((await send(payment)).status).toBe(200)
    await expectBought(higher, payer, { 'x-payment': payment })
  })

  test('of which the bought one is retired before its call is served: its credits serve it', async () => {
    const [lower, higher] = twins()
    await sell([lower, higher])
    const payer = await world.newPayer()
    const payment = await signFor(url, payer, lower)
    const failed = await send(payment, { ...plainBlockNumber, method: 'cut' }, plainUrl(world, COUNTED_CHAIN))
    expect(await failed.json()).toMatchObject({ error: { code: -32_603 } })
    await sell([higher])
    await world.ledger.settled(30)
    expect((await send(payment)).status).toBe(200)
    await expectBought(lower, payer, { 'x-payment': payment })
  })
})

test('a wallet spends the credits of a plan that is too dear for it now, and then buys one within its limits', async () => {
  const dear = { ...world.plan, id: 7, amount: '20000', credits: 2 }
  await sell([dear])
  const wallet = await world.newPayer()
  const open = (perPayment: string, plan?: number) => {
    const limits = { assets: [{ network: CHAIN, asset: USDC_ADDRESS, perPayment }] }
    const parts = { url: world.gateway.url, wallet, limits, storage: memoryStorage() }
    return createTollgate(plan === undefined ? parts : { ...parts, plan })
  }
  const rich = open(dear.amount, dear.id)
  await rich.buy()
  const careful = open(world.plan.amount)
  await Promise.all(Array.from({ length: 10 }, () => careful.request(CHAIN, 'eth_chainId')))
  for (const client of [rich, careful]) client.close()
  const left = (pricing_plan_id: number, remaining_credits: number) => ({
    pricing_plan_id,
    remaining_credits,
  })
  expect(await world.creditsOf(wallet.address)).toEqual([
    left(world.plan.id, world.plan.credits - 8),
    left(dear.id, 0),
  ])
  expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - 30_000n)
})

test('a call pays on the plan that it chose, while other calls turn to another one', async () => {
  const dear = { ...world.plan, id: 8, amount: '20000', credits: 3 }
  await sell([dear])
  const wallet = await world.newPayer()
  const limits = { assets: [{ network: CHAIN, asset: USDC_ADDRESS, perPayment: dear.amount }] }
  const parts = { url: world.gateway.url, wallet, limits }
  const buyer = createTollgate({ ...parts, plan: dear.id, storage: memoryStorage() })
  await buyer.buy()
  buyer.close()

  // The batch has chosen to pay for the cheap plan, and asks for its credits, while a single call finds those of the dear one.
  const send = globalThis.fetch
  let [asked, free]: [() => void, () => void] = [() => undefined, () => undefined]
  const isAsked = new Promise<void>((resolve) => (asked = resolve))
  const isFree = new Promise<void>((resolve) => (free = resolve))
  let balances = 0
  const fetching = jest.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    if (new Request(input).url.includes('/credits/0x') && ++balances === 4) {
      asked()
      await isFree
    }
    return send(input, init)
  })
  const tollgate = createTollgate({ ...parts, storage: memoryStorage() })
  const body = [1, 2, 3, 4, 5].map((id) => ({ jsonrpc: '2.0', id, method: 'eth_chainId', params: [] }))
  const batch = tollgate.send(CHAIN, body)
  await isAsked
  await tollgate.request(CHAIN, 'eth_chainId')
  free()
  expect(await batch).toHaveLength(5)
  fetching.mockRestore()
  tollgate.close()
  expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - 30_000n)
})

test('many calls at once on a small plan are all served, and pay for no more than they need', async () => {
  const small = { ...world.plan, id: 9, amount: '11000', credits: 5 }
  await sell([small])
  const wallet = await world.newPayer()
  const limits = { assets: [{ network: CHAIN, asset: USDC_ADDRESS, perPayment: small.amount }] }
  const parts = { url: world.gateway.url, wallet, limits, plan: small.id, storage: memoryStorage() }
  const clients = [createTollgate(parts), createTollgate(parts)]
  const calls = Array.from({ length: 40 }, (_, index) => clients[index % 2]!.request(CHAIN, 'eth_chainId'))
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['0x14a34']))
  expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - 8n * 11_000n)

  await clients[0]!.signOut()
  expect(await parts.storage.list('sessions/')).toEqual([])
  for (const client of clients) client.close()
})

describe('a plan that is retired', () => {
  const only = (): Plan => ({ ...world.plan, id: 6, amount: '30000', credits: 300 })

  test('between the 402 and the payment is not sold: nothing is stored or settled', async () => {
    await sell([only()])
    const payer = await world.newPayer()
    const payment = await signFor(url, payer, only())
    await sell([])
    const refused = await send(payment)
    const accepts = [{ maxAmountRequired: world.plan.amount }]
    const reason = 'invalid_payment_requirements'
    expect([refused.status, await refused.json()]).toMatchObject([402, { error: reason, accepts }])
    expect(await world.ledger.payments(payer.address)).toEqual([])
    expect(await world.token.balanceOf(payer.address)).toBe(BUDGET)
  })

  test('while its payment is settled is credited and served', async () => {
    await sell([only()])
    const payer = await world.newPayer()
    const payment = await signFor(url, payer, only())
    process.kill(world.facilitator.pid(), 'SIGSTOP')
    const answering = send(payment)
    try {
      await until(
        () => world.ledger.payments(payer.address),
        ([paid]) => paid?.status === 'settling',
      )
      await sell([])
    } finally {
      process.kill(world.facilitator.pid(), 'SIGCONT')
    }
    expect((await answering).status).toBe(200)
    await expectBought(only(), payer, { 'x-payment': payment })
  })

  test('between the settlement and the grant, while the gateway is killed, is credited and served', async () => {
    await sell([only()])
    const payer = await world.newPayer()
    const payment = await signFor(url, payer, only())
    let cut: Promise<unknown> | undefined
    await world.ledger.whileLocked({ text: 'LOCK TABLE grants IN SHARE MODE' }, async () => {
      cut = send(payment).catch(() => 'cut off')
      await until(
        () => world.ledger.payments(payer.address),
        ([paid]) => paid?.status === 'settled',
      )
      await killGateway(world)
      await sell([])
    })
    expect(await cut).toBe('cut off')
    const served = await until(
      () => send(payment),
      ({ status }) => status !== 503,
    )
    expect(served.status).toBe(200)
    await expectBought(only(), payer, { 'x-payment': payment })
  })
})
