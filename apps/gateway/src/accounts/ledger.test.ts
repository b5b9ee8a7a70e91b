import { closeAll } from '@tollgate/testing'
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import {
  balanceOf,
  findViolations,
  fund,
  openSession,
  randomAddress,
  insertPayment,
} from '../testing/accounts'
import {
  inSession,
  endingOf,
  times,
  openLedgers,
  waitForLockWaiter,
  type TestLedgers,
} from '../testing/ledgers'
import { GRANT } from './ledger-sql'

let { ledgers, pool, spender, usageOf } = {} as TestLedgers
beforeAll(async () => {
  ;({ ledgers, pool, spender, usageOf } = await openLedgers())
})
afterEach(async () => expect(await findViolations(pool)).toEqual([]))
afterAll(closeAll)

describe('spending', () => {
  test.each([1, 2])(
    'serves exactly the calls that the credits cover, of a thousand at once on %d replicas',
    async (replicas) => {
      const { wallet, call, balance } = await spender(7)
      const outcomes = await Promise.all(times(1000, (index) => ledgers[index % replicas]!.spend(call())))
      const paid = outcomes.filter(({ outcome }) => outcome === 'paid')
      expect(paid).toHaveLength(7)
      expect(outcomes.filter(({ outcome }) => outcome === 'insufficient')).toHaveLength(993)
      expect(await usageOf(wallet)).toHaveLength(7)
      expect(await balance()).toBe(0n)
    },
  )

  test('returns the balance after each call', async () => {
    const { call } = await spender(4)
    const outcomes = await Promise.all([1, 2, 1, 1].map((cost) => ledgers[0].spend(call(cost))))
    expect(outcomes.map((spent) => 'remaining' in spent && spent.remaining)).toEqual([3n, 1n, 0n, 0n])
  })

  test('records each call of a batch with its own kind', async () => {
    const { wallet, call } = await spender(4)
    const kinds = [
      { providerId: 'node', chainId: '84532', rpcMethod: 'eth_call' },
      { providerId: 'other', chainId: 'cosmoshub-4', rpcMethod: null },
      { providerId: 'node', chainId: '84532', rpcMethod: 'a,"b\\{c}' },
      { providerId: 'node', chainId: '84532', rpcMethod: 'eth_call' },
    ]
    await Promise.all(kinds.map((kind) => ledgers[0].spend(call(1, kind))))
    const rows = await usageOf(wallet)
    expect(
      rows.map(({ provider_id, chain_id, rpc_method }) => ({
        providerId: provider_id,
        chainId: chain_id,
        rpcMethod: rpc_method,
      })),
    ).toEqual(kinds)
  })

  test('refuses a call above the balance, and pays a cheaper later one', async () => {
    const { call, balance } = await spender(6)
    const outcomes = await Promise.all([5, 5, 1].map((cost) => ledgers[0].spend(call(cost))))
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(['paid', 'insufficient', 'paid'])
    expect(await balance()).toBe(0n)
  })

  test('at any costs, on two replicas, never refuses a call that the balance covers', async () => {
    const runs = fc.asyncProperty(
      fc.integer({ min: 0, max: 60 }),
      fc.array(fc.record({ cost: fc.integer({ min: 1, max: 20 }), replica: fc.nat(1) }), { maxLength: 60 }),
      async (credits, calls) => {
        const { call, balance } = await spender(credits)
        const outcomes = await Promise.all(
          calls.map(({ cost, replica }) => ledgers[replica]!.spend(call(cost))),
        )
        const left = await balance()
        const costs = calls.map(({ cost }, index) => ({ cost, outcome: outcomes[index]!.outcome }))
        const paid = costs
          .filter(({ outcome }) => outcome === 'paid')
          .reduce((sum, { cost }) => sum + cost, 0)
        expect(BigInt(credits - paid)).toBe(left)
        for (const { cost, outcome } of costs)
          if (outcome !== 'paid') expect(BigInt(cost)).toBeGreaterThan(left)
      },
    )
    await fc.assert(runs, { numRuns: 25 })
  })

  test('uses credits that are granted while the call waits for the lock', async () => {
    const { wallet, call, balance } = await spender(3)
    const id = await insertPayment(pool, { wallet, credits: 10 })
    const granting = await pool.connect()
    await granting.query('BEGIN')
    await granting.query(GRANT, [id])
    const spent = ledgers[1].spend(call(12))
    await waitForLockWaiter(pool)
    await granting.query('COMMIT')
    granting.release()
    expect(await spent).toMatchObject({ outcome: 'paid', remaining: 1n })
    expect(await balance()).toBe(1n)
  })

  test('records the provider, the call and its wallet', async () => {
    const { wallet, call } = await spender(9)
    await ledgers[0].spend(call(3, { resource: 'v1/x', rpcMethod: null, transport: 'rest', method: 'GET' }))
    expect(await usageOf(wallet)).toEqual([
      expect.objectContaining({
        replica_id: ledgers[0].replicaId,
        provider_id: 'node',
        ecosystem: 'evm',
        chain_id: '84532',
        transport: 'rest',
        method: 'GET',
        resource: 'v1/x',
        rpc_method: null,
        credits: 3,
        state: 'reserved',
      }),
    ])
  })

  test("uses only the credits of the call's plan", async () => {
    const { wallet, call } = await spender(5)
    await fund({ pool, ledger: ledgers[0] }, wallet, 5, 2)
    await Promise.all([1, 2, 2].map((planId) => ledgers[0].spend(call(planId, { planId }))))
    expect(await ledgers[0].getBalances(wallet)).toEqual([
      { planId: 1, balance: 4n },
      { planId: 2, balance: 1n },
    ])
  })

  test('is refused to a wallet without an account, an ended session and an unknown session', async () => {
    const { wallet, call } = await spender(5)
    const unfunded = await spender(0)
    const ended = await openSession(pool, wallet)
    await pool.query('UPDATE sessions SET revoked_at = now() WHERE id = $1', [ended])
    const outcomes = await Promise.all([
      ledgers[0].spend(unfunded.call()),
      ledgers[0].spend(call(1, { authority: inSession(ended) })),
      ledgers[0].spend(call(1, { authority: inSession(randomUUID()) })),
      ledgers[0].spend(call()),
    ])
    expect(outcomes).toEqual([
      { outcome: 'insufficient', remaining: 0n },
      { outcome: 'revoked' },
      { outcome: 'revoked' },
      { outcome: 'paid', usageId: expect.any(BigInt) as bigint, remaining: 4n },
    ])
    expect(await usageOf(wallet)).toHaveLength(1)
  })

  test('above the queue limit is refused as OVERLOADED and charges nothing', async () => {
    const { wallet, call, balance } = await spender(20_000)
    const outcomes = await Promise.allSettled(times(9_000, () => ledgers[0].spend(call())))
    const paid = outcomes.filter((end) => end.status === 'fulfilled' && end.value.outcome === 'paid')
    const refused = outcomes.filter((end) => end.status === 'rejected')
    expect([paid.length, refused.length]).toEqual([8_192, 808])
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'OVERLOADED' })
    expect(await balance()).toBe(20_000n - 8_192n)
    expect(await usageOf(wallet)).toHaveLength(8_192)
  })
})

describe('ending a call', () => {
  test('keeps the credits of a served call, and refunds a failed one', async () => {
    const { wallet, paid, balance } = await spender(10)
    const [served, failed] = [await paid(ledgers[0], 3), await paid(ledgers[0], 4)]
    expect(await ledgers[0].finish(endingOf(served))).toBe(true)
    expect(await balance()).toBe(3n)
    expect(await ledgers[0].finish(endingOf(failed, 'refunded'))).toBe(true)
    expect(await balance()).toBe(7n)
    expect(await usageOf(wallet)).toEqual([
      expect.objectContaining({ state: 'done', status_code: 200, outcome: 'answered', latency_ms: 12 }),
      expect.objectContaining({ state: 'refunded', status_code: null, outcome: 'upstream_failed' }),
    ])
  })

  test('happens once in twenty concurrent attempts on two replicas', async () => {
    const { paid, balance } = await spender(10)
    const usageId = await paid()
    const ends = await Promise.all(
      times(20, (index) => ledgers[index % 2]!.finish(endingOf(usageId, 'refunded'))),
    )
    expect(ends.filter(Boolean)).toHaveLength(1)
    expect(await balance()).toBe(10n)
  })

  test('is final', async () => {
    const { paid, balance } = await spender(10)
    const usageId = await paid()
    expect(await ledgers[0].finish(endingOf(usageId))).toBe(true)
    expect(await ledgers[1].finish(endingOf(usageId, 'refunded'))).toBe(false)
    expect(await balance()).toBe(9n)
    expect(await ledgers[0].finish(endingOf(2n ** 60n))).toBe(false)
  })

  test('twice in one batch keeps the first ending', async () => {
    const { paid, balance } = await spender(10)
    const [one, other] = [await paid(), await paid()]
    const ends = [endingOf(one), endingOf(one, 'refunded'), endingOf(other, 'refunded'), endingOf(other)]
    expect(await Promise.all(ends.map(ledgers[0].finish))).toEqual([true, false, true, false])
    expect(await balance()).toBe(9n)
  })
})

describe('granting', () => {
  test('happens once in twenty concurrent attempts on two replicas', async () => {
    const wallet = randomAddress()
    const id = await insertPayment(pool, { wallet, credits: 100 })
    const grants = await Promise.all(times(20, (index) => ledgers[index % 2]!.grant(id)))
    expect(grants.filter(Boolean)).toHaveLength(1)
    expect(await balanceOf(ledgers[0], wallet)).toBe(100n)
  })

  test('of many payments at once adds them all', async () => {
    const wallet = randomAddress()
    const ids = await Promise.all(times(20, (index) => insertPayment(pool, { wallet, credits: index + 1 })))
    await Promise.all(ids.map((id, index) => ledgers[index % 2]!.grant(id)))
    expect(await balanceOf(ledgers[0], wallet)).toBe(210n)
  })

  test.each(['received', 'settling', 'failed'])('is not done for a payment that is %s', async (status) => {
    const wallet = randomAddress()
    const id = await insertPayment(pool, { wallet, credits: 100, status })
    expect(await ledgers[0].grant(id)).toBe(false)
    expect(await ledgers[0].getBalances(wallet)).toEqual([])
  })
})
