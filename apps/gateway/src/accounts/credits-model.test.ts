import { closeAll } from '@tollgate/testing'
import fc from 'fast-check'
import { findViolations, openSession, insertPayment } from '../testing/accounts'
import { inSession, endingOf, openLedgers, type TestLedgers } from '../testing/ledgers'
import { type Ledger } from './ledger'

let books: TestLedgers
beforeAll(async () => (books = await openLedgers()))
afterAll(closeAll)

type Wallet = { address: string; live: string; dead: string }
type Payment = {
  id: string
  wallet: number
  plan: number
  credits: number
  isSettled: boolean
  isGranted: boolean
}
type Usage = {
  id: bigint
  wallet: number
  plan: number
  cost: number
  state: 'reserved' | 'done' | 'refunded'
  isOrphan: boolean
}
type Model = { balances: Map<string, number>; payments: Payment[]; usages: Usage[]; crashing: Ledger }
type Real = { wallets: Wallet[] }
type Command = fc.AsyncCommand<Model, Real>

const key = (wallet: number, plan: number) => `${wallet} ${plan}`
const balanceIn = (model: Model, wallet: number, plan: number) => model.balances.get(key(wallet, plan)) ?? 0
const add = (model: Model, { wallet, plan }: { wallet: number; plan: number }, credits: number) =>
  model.balances.set(key(wallet, plan), balanceIn(model, wallet, plan) + credits)

/** Results that occurred: an untested result proves nothing. */
const seen = new Set<string>()

async function compare({ balances, usages, payments }: Model, { wallets }: Real) {
  expect(await findViolations(books.pool)).toEqual([])
  for (const ledger of books.ledgers) {
    const found = new Map<string, number>()
    for (const [index, { address }] of wallets.entries())
      for (const { planId, balance } of await ledger.getBalances(address))
        found.set(key(index, planId), Number(balance))
    expect(found).toEqual(balances)
  }
  const addresses = wallets.map(({ address }) => address)
  const states = await books.pool.query<{ id: bigint; state: string; credits: number }>(
    `SELECT usage.id, state, credits FROM usage JOIN accounts ON accounts.id = account_id
     WHERE wallet = ANY ($1) ORDER BY usage.id`,
    [addresses],
  )
  expect(states.rows).toEqual(
    usages
      .map(({ id, state, cost }) => ({ id, state, credits: cost }))
      .sort((one, other) => Number(one.id - other.id)),
  )
  const granted = 'SELECT payment_id FROM grants WHERE payment_id = ANY ($1)'
  const { rows } = await books.pool.query(granted, [payments.map(({ id }) => id)])
  expect(rows).toHaveLength(payments.filter(({ isGranted }) => isGranted).length)
}

const command = (
  name: string,
  act: (model: Model, real: Real) => Promise<void>,
  check: Command['check'] = () => true,
): Command => ({
  check,
  async run(model, real) {
    await act(model, real)
    await compare(model, real)
  },
  toString: () => name,
})
const pick = <T>(from: readonly T[], index: number) => from[index % from.length]!
const ledgerOf = (replica: number) => pick(books.ledgers, replica)

const account = { wallet: fc.nat(2), plan: fc.integer({ min: 1, max: 2 }) }
const cost = fc.integer({ min: 1, max: 8 })
const replica = fc.nat(1)

function chargeOf({ wallets }: Real, wallet: number, planId: number, calls: { cost: number }) {
  const { address, live } = wallets[wallet]!
  return { ...common, authority: inSession(live), wallet: address, planId, cost: calls.cost }
}
const common = {
  providerId: 'node',
  ecosystem: 'evm' as const,
  chainId: '84532',
  transport: 'rpc' as const,
  method: 'POST',
  resource: '',
  rpcMethod: 'eth_call',
}

async function spend(
  model: Model,
  real: Real,
  ledger: Ledger,
  call: { wallet: number; plan: number; cost: number },
) {
  const spent = await ledger.spend(chargeOf(real, call.wallet, call.plan, call))
  seen.add(`spend: ${spent.outcome}`)
  if (spent.outcome === 'paid') {
    add(model, call, -call.cost)
    model.usages.push({ ...call, id: spent.usageId, state: 'reserved', isOrphan: ledger === model.crashing })
  }
  return spent
}

const commands: fc.Arbitrary<Command>[] = [
  fc.record({ ...account, credits: fc.integer({ min: 1, max: 20 }), replica }).map((buy) =>
    command(`buy ${JSON.stringify(buy)}`, async (model, { wallets }) => {
      const { wallet, plan, credits } = buy
      const id = await insertPayment(books.pool, { wallet: wallets[wallet]!.address, credits, planId: plan })
      expect(await ledgerOf(buy.replica).grant(id)).toBe(true)
      model.payments.push({ id, wallet, plan, credits, isSettled: true, isGranted: true })
      add(model, buy, credits)
    }),
  ),

  fc
    .record({ ...account, status: fc.constantFrom('received', 'settling', 'failed', 'settled'), replica })
    .map((write) =>
      command(`grant what is ${write.status}`, async (model, { wallets }) => {
        const { wallet, plan, status } = write
        const payment = { wallet: wallets[wallet]!.address, credits: 5, planId: plan, status }
        const id = await insertPayment(books.pool, payment)
        const isSettled = status === 'settled'
        expect(await ledgerOf(write.replica).grant(id)).toBe(isSettled)
        seen.add(`grant: ${isSettled}`)
        if (isSettled) add(model, write, 5)
        model.payments.push({ id, wallet, plan, credits: 5, isSettled, isGranted: isSettled })
      }),
    ),

  fc.record({ which: fc.nat(9), times: fc.integer({ min: 1, max: 4 }) }).map(({ which, times }) =>
    command(
      `grant again ${which}, ${times} times at once`,
      async ({ payments }) => {
        const { id } = pick(payments, which)
        const grants = await Promise.all(
          Array.from({ length: times }, (_, index) => ledgerOf(index).grant(id)),
        )
        expect(grants).toEqual(grants.map(() => false))
        seen.add('grant: again')
      },
      ({ payments }) => payments.length > 0,
    ),
  ),

  fc.record({ ...account, cost, replica }).map((call) =>
    command(`spend ${JSON.stringify(call)}`, async (model, real) => {
      const { wallet, plan } = call
      const before = balanceIn(model, wallet, plan)
      const spent = await spend(model, real, ledgerOf(call.replica), { wallet, plan, cost: call.cost })
      const isCovered = call.cost <= before
      expect(spent).toMatchObject(
        isCovered
          ? { outcome: 'paid', remaining: BigInt(before - call.cost) }
          : { outcome: 'insufficient', remaining: BigInt(before) },
      )
    }),
  ),

  fc
    .record({ ...account, costs: fc.array(cost, { minLength: 2, maxLength: 8 }) })
    .map(({ wallet, plan, costs }) =>
      command(`spend ${costs.join(', ')} at once on ${wallet} ${plan}`, async (model, real) => {
        const outcomes = await Promise.all(
          costs.map((each, index) => spend(model, real, ledgerOf(index), { wallet, plan, cost: each })),
        )
        const left = balanceIn(model, wallet, plan)
        expect(left).toBeGreaterThanOrEqual(0)
        for (const [index, { outcome }] of outcomes.entries())
          if (outcome !== 'paid') expect(costs[index]).toBeGreaterThan(left)
      }),
    ),

  fc.record({ ...account, cost, replica }).map((call) =>
    command('spend in an ended session', async (_, real) => {
      const charge = chargeOf(real, call.wallet, call.plan, call)
      const dead = { ...charge, authority: inSession(real.wallets[call.wallet]!.dead) }
      expect(await ledgerOf(call.replica).spend(dead)).toEqual({ outcome: 'revoked' })
      seen.add('spend: revoked')
    }),
  ),

  fc
    .record({
      which: fc.nat(19),
      state: fc.constantFrom('done' as const, 'refunded' as const),
      replica,
      times: fc.integer({ min: 1, max: 3 }),
    })
    .map(({ which, state, times, ...on }) =>
      command(
        `end ${which} as ${state}, ${times} times at once`,
        async (model) => {
          const usage = pick(model.usages, which)
          const isFirst = usage.state === 'reserved'
          const ends = await Promise.all(
            Array.from({ length: times }, (_, index) =>
              ledgerOf(on.replica + index).finish(endingOf(usage.id, state)),
            ),
          )
          expect(ends.filter(Boolean)).toHaveLength(isFirst ? 1 : 0)
          seen.add(`end: ${isFirst ? state : 'again'}`)
          if (!isFirst) return
          usage.state = state
          if (state === 'refunded') add(model, usage, usage.cost)
        },
        ({ usages }) => usages.length > 0,
      ),
    ),

  fc.record({ ...account, cost }).map((call) =>
    command(`spend ${call.cost} on a replica that will die`, async (model, real) => {
      await model.crashing.sendHeartbeat()
      await spend(model, real, model.crashing, call)
    }),
  ),

  // Live replicas keep their calls; a dead replica's calls are refunded once, by any other.
  fc.record({ isDead: fc.boolean(), times: fc.integer({ min: 1, max: 3 }) }).map(({ isDead, times }) =>
    command(`reap ${isDead ? 'the dead' : 'among the living'}, ${times} times at once`, async (model) => {
      await Promise.all([...books.ledgers, model.crashing].map((ledger) => ledger.sendHeartbeat()))
      if (isDead)
        await books.pool.query(
          "UPDATE replicas SET heartbeat_at = now() - INTERVAL '25 seconds' WHERE id = $1",
          [model.crashing.replicaId],
        )
      const orphans = isDead
        ? model.usages.filter(({ isOrphan, state }) => isOrphan && state === 'reserved')
        : []
      const reaped = await Promise.all(
        Array.from({ length: times }, (_, index) => ledgerOf(index).refundOrphans()),
      )
      expect(reaped.reduce((sum, count) => sum + count)).toBe(orphans.length)
      if (orphans.length > 0) seen.add('reap: dead')
      for (const usage of orphans) {
        usage.state = 'refunded'
        add(model, usage, usage.cost)
      }
      if (isDead) model.crashing = books.newReplica()
    }),
  ),
]

async function newWallet(): Promise<Wallet> {
  const { wallet: address, call } = await books.spender(0)
  const dead = await openSession(books.pool, address)
  await books.pool.query('UPDATE sessions SET revoked_at = now() WHERE id = $1', [dead])
  return { address, live: call().authority.id, dead }
}

/** Results that must occur in the runs. */
const WANTED = [
  'end: again',
  'end: done',
  'end: refunded',
  'grant: again',
  'grant: false',
  'grant: true',
  'reap: dead',
  'spend: insufficient',
  'spend: paid',
  'spend: revoked',
]
const MAX_ROUNDS = 5

test('the balances of two replicas match the model after every step', async () => {
  for (let round = 0; round < MAX_ROUNDS && seen.size < WANTED.length; round++) await playAtRandom()
  expect([...seen].sort()).toEqual(WANTED)
})

const playAtRandom = () =>
  fc.assert(
    fc.asyncProperty(fc.commands(commands, { maxCommands: 40, size: 'max' }), async (steps) => {
      const wallets = await Promise.all([newWallet(), newWallet(), newWallet()])
      const model = { balances: new Map(), payments: [], usages: [], crashing: books.newReplica() }
      try {
        await fc.asyncModelRun(() => ({ model, real: { wallets } }), steps)
      } finally {
        // End reserved calls, so that the next run does not find them.
        await books.pool.query("UPDATE usage SET state = 'done' WHERE state = 'reserved'")
      }
    }),
    { numRuns: 45 },
  )
