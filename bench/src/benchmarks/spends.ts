import { randomUUID } from 'node:crypto'
import { type GatewayDatabase } from '@tollgate/database'
import { createLedger } from '@tollgate/gateway/dist/accounts/ledger'
import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { type Caller, openAccounts } from '../gateway/accounts'
import { CHAIN } from '../gateway/chains'
import { interleave, median } from '../rounds'
import { openPostgres } from '../stores'

const WALLETS = 1_000
const AT_ONCE = 256
const SECONDS = 2
const REPLICA = randomUUID()

type Pool = GatewayDatabase['pool']
type Spend = (caller: Caller) => Promise<unknown>
type Ways = Record<'grouped' | 'transaction' | 'statement', Spend>

export const spends: Benchmark = {
  name: 'spends',
  title: 'Durable spends alone',
  async run(context) {
    const postgres = await openPostgres(context)
    const accounts = await openAccounts(context, { postgres, upstreamUrl: 'http://127.0.0.1:9' })
    const callers = await accounts.createCallers(WALLETS)
    const { pool } = accounts.database
    const ways = {
      grouped: spendByLedger(accounts.database),
      transaction: spendByTransaction(pool),
      statement: spendByStatement(pool),
    }
    const comparisons = [
      await compare(context, '1,000 wallets', { ways, callers, atLeast: 5 }),
      await compare(context, 'one hot wallet', { ways, callers: callers.slice(0, 1), atLeast: 15 }),
    ]
    const violations = await accounts.findViolations()
    if (violations.length > 0) throw new Error(`The accounts do not add up: ${violations.join(', ')}`)
    return { comparisons, charts: [] }
  },
}

async function compare(
  context: BenchmarkContext,
  name: string,
  { ways, callers, atLeast }: { ways: Ways; callers: readonly Caller[]; atLeast: number },
): Promise<Comparison> {
  const { grouped, transaction, statement } = await interleave(
    context,
    {
      grouped: () => spendsPerSecond(ways.grouped, callers),
      transaction: () => spendsPerSecond(ways.transaction, callers),
      statement: () => spendsPerSecond(ways.statement, callers),
    },
    (rate) => `${Math.round(rate)} spends/s of ${name}`,
  )
  return {
    measured: `durable spends of ${name}, ${AT_ONCE} at once, per second`,
    against: 'one UPDATE and one INSERT for each call, in a transaction, over the same pool',
    ratio: median(grouped) / median(transaction),
    reach: { atLeast },
    figures: {
      [`tollgate spends/s of ${name}`]: Math.round(median(grouped)),
      [`transactions of UPDATE and INSERT/s of ${name}`]: Math.round(median(transaction)),
      [`statements with UPDATE and INSERT/s of ${name}`]: Math.round(median(statement)),
    },
  }
}

async function spendsPerSecond(spend: Spend, callers: readonly Caller[]): Promise<number> {
  const startedAt = performance.now()
  const end = startedAt + 1000 * SECONDS
  let spent = 0
  async function lane(first: number) {
    for (let turn = first; performance.now() < end; turn += AT_ONCE) {
      const caller = callers[turn % callers.length]
      if (caller) await spend(caller)
      spent++
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => lane(index)))
  return (1000 * spent) / (performance.now() - startedAt)
}

/** As a call of the gateway is charged. */
function spendByLedger(database: GatewayDatabase): Spend {
  const ledger = createLedger(database)
  const call = { ecosystem: 'evm', chainId: CHAIN, transport: 'rpc', method: 'POST', resource: '' } as const
  const parts = { ...call, planId: 1, providerId: 'node', rpcMethod: 'eth_getBalance', cost: 1 }
  return async ({ wallet, sessionId }) => {
    const { outcome } = await ledger.spend({
      ...parts,
      wallet,
      authority: { kind: 'session', id: sessionId },
    })
    if (outcome !== 'paid') throw new Error(`A spend ended with ${outcome}`)
  }
}

const CHARGE = `UPDATE accounts SET balance = balance - 1, calls = calls + 1
  WHERE wallet = $1 AND pricing_plan_id = 1 AND balance >= 1 RETURNING id`
const COLUMNS =
  'account_id, replica_id, provider_id, ecosystem, chain_id, transport, method, resource, rpc_method, credits, state'
const VALUES = `$2, 'node', 'evm', $3, 'rpc', 'POST', '', 'eth_getBalance', 1, 'done'`

const spendByTransaction =
  (pool: Pool): Spend =>
  async ({ wallet }) => {
    const client = await pool.connect()
    try {
      await client.query('BEGIN')
      const { rows } = await client.query<{ id: bigint }>({ name: 'charge', text: CHARGE, values: [wallet] })
      const text = `INSERT INTO usage (${COLUMNS}) VALUES ($1, ${VALUES})`
      await client.query({ name: 'book', text, values: [rows[0]?.id, REPLICA, CHAIN] })
      await client.query('COMMIT')
    } finally {
      client.release()
    }
  }

/** The same in one round trip. */
const spendByStatement =
  (pool: Pool): Spend =>
  async ({ wallet }) => {
    const text = `WITH charged AS (${CHARGE}) INSERT INTO usage (${COLUMNS}) SELECT id, ${VALUES} FROM charged`
    const { rowCount } = await pool.query({ name: 'charge-and-book', text, values: [wallet, REPLICA, CHAIN] })
    if (rowCount !== 1) throw new Error('A spend was not charged')
  }
