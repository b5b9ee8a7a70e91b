import { openGatewayDatabase } from '@tollgate/database'
import { closeLater, migratedDatabase } from '@tollgate/testing'
import { type Charge } from '../accounts/call-charges'
import { type Ending } from '../accounts/call-endings'
import { createLedger } from '../accounts/ledger'
import { type Authority } from '../accounts/ledger-sql'
import { applyCatalog } from '../catalog/apply'
import { balanceOf, fund, openSession, randomAddress } from './accounts'
import { catalogOf, planOf } from './catalog'

export type TestLedgers = Awaited<ReturnType<typeof openLedgers>>

export async function openLedgers() {
  const url = await migratedDatabase('gateway')
  const [one, other] = [openGatewayDatabase({ url }), openGatewayDatabase({ url })]
  closeLater(() => Promise.all([one.close(), other.close()]))
  await applyCatalog(one, catalogOf({ plans: [planOf(), planOf({ id: 2 })], providers: [] }))
  const { pool } = one
  const newReplica = () => createLedger(other)
  const ledgers = [createLedger(one), newReplica()] as const
  await Promise.all(ledgers.map((ledger) => ledger.sendHeartbeat()))

  async function spender(credits: number) {
    const wallet = randomAddress()
    if (credits > 0) await fund({ pool, ledger: ledgers[0] }, wallet, credits)
    const sessionId = await openSession(pool, wallet)
    const call = (cost = 1, changes: Partial<Charge> = {}) =>
      chargeOf({ authority: inSession(sessionId), wallet, cost, ...changes })
    async function paid(ledger = ledgers[0], cost = 1) {
      const spent = await ledger.spend(call(cost))
      if (spent.outcome !== 'paid') throw new Error(`The call was not paid: ${spent.outcome}`)
      return spent.usageId
    }
    return { wallet, call, paid, balance: () => balanceOf(ledgers[0], wallet) }
  }

  /** Makes reserved calls, and what finds them, older. */
  async function ageReserved(seconds: number, usageId?: bigint) {
    const age = `SET created_at = created_at - make_interval(secs => $1)`
    const values = [seconds, usageId]
    await pool.query(`UPDATE usage ${age} WHERE state = 'reserved' AND coalesce(id = $2, true)`, values)
    await pool.query(
      `UPDATE reservations ${age} WHERE coalesce($2 BETWEEN first_call AND last_call, true)`,
      values,
    )
  }

  async function usageOf(wallet: string) {
    const text = `SELECT usage.* FROM usage JOIN accounts ON accounts.id = account_id
      WHERE wallet = $1 ORDER BY usage.id`
    return (await pool.query<Record<string, unknown>>(text, [wallet])).rows
  }

  return { url, ledgers, pool, newReplica, spender, usageOf, ageReserved }
}

export const inSession = (id: string): Authority => ({ kind: 'session', id })

/** By default a read on chain 84532 for one credit of plan 1. */
export const chargeOf = (changes: Partial<Charge> & Pick<Charge, 'authority' | 'wallet'>): Charge => ({
  planId: 1,
  cost: 1,
  providerId: 'node',
  ecosystem: 'evm',
  chainId: '84532',
  transport: 'rpc',
  method: 'POST',
  resource: '',
  rpcMethod: 'eth_blockNumber',
  ...changes,
})

export const endingOf = (usageId: bigint, state: 'done' | 'refunded' = 'done'): Ending => ({
  usageId,
  state,
  statusCode: state === 'done' ? 200 : null,
  outcome: state === 'done' ? 'answered' : 'upstream_failed',
  latencyMs: 12,
})

export const times = <T>(count: number, of: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => of(index))

export async function waitForLockWaiter(pool: TestLedgers['pool'], count = 1) {
  const waiting =
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
  const deadline = performance.now() + 20_000
  while ((await pool.query(waiting)).rows.length < count)
    if (performance.now() > deadline) throw new Error('No statement waits for a lock')
}

export async function lockAccount(pool: TestLedgers['pool'], wallet: string) {
  const holder = await pool.connect()
  await holder.query('BEGIN')
  await holder.query('SELECT FROM accounts WHERE wallet = $1 FOR UPDATE', [wallet])
  return async () => {
    await holder.query('ROLLBACK')
    holder.release()
  }
}
