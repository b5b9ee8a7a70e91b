import { startAnvil } from '@tollgate/devnet'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { call, sign, until } from './testing/paying'
import { queryNode } from './testing/query-node'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { signIn, walletAt } from './testing/world'

let world: ObservedWorld

beforeAll(async () => void (world = await startObservedWorld()), 120_000)
afterAll(() => world.stop(), 30_000)

const balanceOf = (remaining: number) => [{ pricing_plan_id: 1, remaining_credits: remaining }]

describe('while the chain is stopped', () => {
  test('a payment waits and is settled once after the restart; a call is refunded', async () => {
    const { plan, infrastructure } = world
    const buyer = walletAt(0)
    const session = await signIn(world, buyer)
    const spender = walletAt(1)
    const spenderSession = await signIn(world, spender)
    await call(world, spenderSession, await sign(spender, (await call(world, spenderSession)).body))
    const payment = await sign(buyer, (await call(world, session)).body)
    const before = await world.token.balanceOf(plan.pay_to)

    await infrastructure.anvil.stop()
    const refused = await call(world, spenderSession)
    expect([refused.status, refused.body.code]).toEqual([500, 'UPSTREAM_FAILED'])
    expect(await world.creditsOf(spender.address)).toEqual(balanceOf(plan.credits - 1))
    for (const attempt of [1, 2]) {
      const waiting = await call(world, session, payment)
      expect([attempt, waiting.status, waiting.body.code]).toEqual([attempt, 503, 'PAYMENT_PENDING'])
      expect(Number(waiting.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await world.creditsOf(buyer.address)).toEqual([])

    await startChain()
    await until(
      () => world.creditsOf(buyer.address),
      (balances) => JSON.stringify(balances) !== '[]',
    )
    const served = await call(world, session, payment)
    expect([served.status, await world.creditsOf(buyer.address)]).toEqual([200, balanceOf(plan.credits - 1)])
    expect((await world.token.balanceOf(plan.pay_to)) - before).toBe(BigInt(plan.amount))
  }, 90_000)
})

describe('kill -9 of the gateway during a settlement', () => {
  test('the payment is settled once and credited once by the next process', async () => {
    const { plan, infrastructure } = world
    const buyer = walletAt(2)
    const session = await signIn(world, buyer)
    const payment = await sign(buyer, (await call(world, session)).body)
    const before = { paid: await world.token.balanceOf(plan.pay_to), signed: signedSettlements() }

    // No blocks are mined now, so the payment is still open at the kill.
    await infrastructure.anvil.stop()
    await startChain({ blockTime: 3_600 })
    const cut = call(world, session, payment).catch(() => 'cut off')
    await until(
      () => Promise.resolve(signedSettlements()),
      (signed) => signed > before.signed,
    )
    process.kill(world.gateway.pid(), 'SIGKILL')
    expect(await cut).toBe('cut off')
    await queryNode(infrastructure.rpcUrl, 'evm_mine')

    await until(
      () => world.creditsOf(buyer.address),
      (balances) => JSON.stringify(balances) !== '[]',
    )
    const served = await call(world, session, payment)
    expect([served.status, await world.creditsOf(buyer.address)]).toEqual([200, balanceOf(plan.credits - 1)])
    expect((await world.token.balanceOf(plan.pay_to)) - before.paid).toBe(BigInt(plan.amount))
  }, 90_000)
})

async function startChain(options: { blockTime?: number } = {}) {
  const { rpcUrl, anvil } = world.infrastructure
  const again = await startAnvil({
    folder: join(world.folder, 'anvil'),
    port: Number(new URL(rpcUrl).port),
    ...options,
  })
  anvil.stop = again.stop
}

const signedSettlements = () =>
  readFileSync(world.log('facilitator'), 'utf8').split('settlement signed').length - 1
