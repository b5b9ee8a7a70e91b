import { startAnvil } from '@tollgate/devnet'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tokenAt } from './testing/chain'
import { call, sign, until } from './testing/paying'
import { signIn, startWorld, walletAt, type World } from './testing/world'

let world: World
let token: ReturnType<typeof tokenAt>

beforeAll(async () => {
  world = await startWorld()
  token = tokenAt(world.infrastructure.rpcUrl)
}, 120_000)

afterAll(async () => {
  token.close()
  await world.stop()
}, 30_000)

const credits = async (address: string): Promise<unknown> =>
  await (await fetch(`${world.gateway.url}/credits/${address}`)).json()
const creditsOf = (remaining: number) => [{ pricing_plan_id: 1, remaining_credits: remaining }]

describe('while the chain is stopped', () => {
  test('a payment waits and is settled once after the restart; a call is refunded', async () => {
    const { plan, infrastructure } = world
    const buyer = walletAt(0)
    const session = await signIn(world, buyer)
    const spender = walletAt(1)
    const spenderSession = await signIn(world, spender)
    await call(world, spenderSession, await sign(spender, (await call(world, spenderSession)).body))
    const payment = await sign(buyer, (await call(world, session)).body)
    const before = await token.balanceOf(plan.pay_to)

    await infrastructure.anvil.stop()
    const refused = await call(world, spenderSession)
    expect([refused.status, refused.body.code]).toEqual([500, 'UPSTREAM_FAILED'])
    expect(await credits(spender.address)).toEqual(creditsOf(plan.credits - 1))
    for (const attempt of [1, 2]) {
      const waiting = await call(world, session, payment)
      expect([attempt, waiting.status, waiting.body.code]).toEqual([attempt, 503, 'PAYMENT_PENDING'])
      expect(Number(waiting.headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await credits(buyer.address)).toEqual([])

    await startChain()
    await until(
      () => credits(buyer.address),
      (balances) => JSON.stringify(balances) !== '[]',
    )
    const served = await call(world, session, payment)
    expect([served.status, await credits(buyer.address)]).toEqual([200, creditsOf(plan.credits - 1)])
    expect((await token.balanceOf(plan.pay_to)) - before).toBe(BigInt(plan.amount))
  }, 90_000)
})

describe('kill -9 of the gateway during a settlement', () => {
  test('the payment is settled once and credited once by the next process', async () => {
    const { plan, infrastructure } = world
    const buyer = walletAt(2)
    const session = await signIn(world, buyer)
    const payment = await sign(buyer, (await call(world, session)).body)
    const before = { paid: await token.balanceOf(plan.pay_to), signed: signedSettlements() }

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
    await rpc(infrastructure.rpcUrl, 'evm_mine')

    await until(
      () => credits(buyer.address),
      (balances) => JSON.stringify(balances) !== '[]',
    )
    const served = await call(world, session, payment)
    expect([served.status, await credits(buyer.address)]).toEqual([200, creditsOf(plan.credits - 1)])
    expect((await token.balanceOf(plan.pay_to)) - before.paid).toBe(BigInt(plan.amount))
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

const rpc = (url: string, method: string, ...params: unknown[]) =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
