import { usdcAbi } from '@tollgate/devnet'
import { decodeJson, encodeJson, type PaymentRequired } from '@tollgate/protocol'
import { Interface, JsonRpcProvider, Transaction, Wallet } from 'ethers'
import { call } from './testing/paying'
import { plainBlockNumber, plainUrl, postJson } from './testing/plain-calls'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { signIn, walletAt } from './testing/world'

let world: ObservedWorld
let provider: JsonRpcProvider

beforeAll(async () => {
  world = await startObservedWorld()
  provider = new JsonRpcProvider(world.infrastructure.rpcUrl, undefined, { staticNetwork: true })
}, 120_000)

afterAll(async () => {
  provider.destroy()
  await world.stop()
}, 30_000)

const erc20 = new Interface([...usdcAbi])
const GWEI = 10n ** 9n

async function signTransfer({ privateKey }: { privateKey: string }, asked: unknown): Promise<string> {
  const [offer] = (asked as PaymentRequired).accepts ?? []
  if (!offer) throw new Error('The 402 offers no way to pay')
  const wallet = new Wallet(privateKey)
  return wallet.signTransaction({
    type: 2,
    chainId: 84532,
    nonce: await provider.getTransactionCount(wallet.address),
    to: offer.asset,
    data: erc20.encodeFunctionData('transfer', [offer.payTo, offer.maxAmountRequired]),
    gasLimit: 100_000,
    maxFeePerGas: 60n * GWEI,
    maxPriorityFeePerGas: 10n * GWEI,
  })
}

async function customer(index: number) {
  const wallet = walletAt(index)
  const session = await signIn(world, wallet)
  const raw = await signTransfer(wallet, (await call(world, session)).body)
  return {
    ...wallet,
    session,
    raw,
    pay: (payment: string) => call(world, session, payment),
    held: () => world.token.balanceOf(wallet.address),
    credits: () => world.creditsOf(wallet.address),
  }
}

const creditsOf = (remaining: number) => [{ pricing_plan_id: 1, remaining_credits: remaining }]

describe('a payment that is a signed transaction', () => {
  test('is broadcast unchanged, and buys the plan once, in whatever form it is repeated', async () => {
    const { plan } = world
    const buyer = await customer(0)
    const before = await buyer.held()
    const answers = [
      await buyer.pay(buyer.raw),
      await buyer.pay(encodeJson({ type: 'raw_tx', rawTx: buyer.raw })),
      await buyer.pay(`0x${buyer.raw.slice(2).toUpperCase()}`),
    ]
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(before - (await buyer.held())).toBe(BigInt(plan.amount))
    expect(await buyer.credits()).toEqual(creditsOf(plan.credits - 3))
    const { hash } = Transaction.from(buyer.raw)
    expect(await world.token.transfersOf(hash!, buyer.address)).toEqual([
      { from: buyer.address, to: plan.pay_to, value: BigInt(plan.amount) },
    ])
  })

  test('that its payer has broadcast, as the procedure of a 402 says, buys the plan once and serves the call', async () => {
    const { plan } = world
    const buyer = await customer(4)
    const before = await buyer.held()
    const sent = await provider.broadcastTransaction(buyer.raw)
    await sent.wait()
    const answer = await buyer.pay(buyer.raw)
    expect(answer.status).toBe(200)
    expect(decodeJson(answer.headers.get('x-payment-response') ?? '')).toMatchObject({
      success: true,
      transaction: sent.hash,
    })
    expect((await buyer.pay(buyer.raw)).status).toBe(200)
    expect(before - (await buyer.held())).toBe(BigInt(plan.amount))
    expect(await buyer.credits()).toEqual(creditsOf(plan.credits - 2))
  })

  test('that is on the chain serves no call to a stranger who read it there, and its payer spends it signed in', async () => {
    const { plan } = world
    const buyer = await customer(5)
    await (await provider.broadcastTransaction(buyer.raw)).wait()
    for (let times = 0; times < 2; times++) {
      const answer = await postJson(plainUrl(world, '84532'), plainBlockNumber, { 'x-payment': buyer.raw })
      expect([answer.status, await answer.text()]).toEqual([
        402,
        expect.stringContaining('credited to its payer'),
      ])
    }
    expect(await buyer.credits()).toEqual(creditsOf(plan.credits))
    expect((await buyer.pay(buyer.raw)).status).toBe(200)
    expect(await buyer.credits()).toEqual(creditsOf(plan.credits - 1))
  })

  test('is one purchase in fifty concurrent calls', async () => {
    const { plan } = world
    const buyer = await customer(1)
    const before = await buyer.held()
    const answers = await Promise.all(Array.from({ length: 50 }, () => buyer.pay(buyer.raw)))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(before - (await buyer.held())).toBe(BigInt(plan.amount))
    expect(await buyer.credits()).toEqual(creditsOf(plan.credits - 50))
  })

  test('of another wallet buys nothing, and remains valid for its owner', async () => {
    const { plan } = world
    const [owner, thief] = [await customer(2), await customer(3)]
    expect((await thief.pay(owner.raw)).status).toBe(402)
    expect(await thief.credits()).toEqual([])
    expect((await owner.pay(owner.raw)).status).toBe(200)
    expect(await owner.credits()).toEqual(creditsOf(plan.credits - 1))
  })
})
