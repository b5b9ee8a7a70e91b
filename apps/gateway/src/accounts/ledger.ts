import { QUERY_TIMEOUT_MS, type GatewayDatabase } from '@tollgate/database'
import { withTimeout } from '@tollgate/protocol'
import { createMetrics } from '@tollgate/service'
import { randomUUID } from 'node:crypto'
import { systemClocks, type Clocks } from '../clocks'
import { createCallCharges, type Charge } from './call-charges'
import { createCallEndings } from './call-endings'
import { createLease, DEAD_AFTER_SECONDS } from './lease'
import { createLedgerMetrics, type LedgerMetrics } from './ledger-metrics'
import { apiErrorOf, creditsPending, isLockTimeout } from './ledger-errors'
import {
  CUT_OFF,
  DELETE_DEAD_REPLICAS,
  DELETE_ENDED_RESERVATIONS,
  GRANT,
  HEARTBEAT,
  ORPHANS,
  type SpendRow,
} from './ledger-sql'

export type SpendResult =
  | { outcome: 'paid'; usageId: bigint; remaining: bigint }
  | { outcome: 'insufficient'; remaining: bigint }
  | { outcome: 'revoked' | 'key_limit' }

/** Detects a dead connection in time for another heartbeat. */
const HEARTBEAT_TIMEOUT_MS = 5_000
/** Must exceed the time that a spend waits for its result: after it, the result is not used. */
const ORPHANED_AFTER_SECONDS = QUERY_TIMEOUT_MS / 1000 + 10
const DELETE_REPLICAS_AFTER_SECONDS = 3_600

export type Ledger = ReturnType<typeof createLedger>

/**
 * The credits. Each change is one statement: a balance never goes below zero however many calls and replicas spend at once,
 * and balance = grants + refunds - usage for every account.
 */
export function createLedger(
  database: GatewayDatabase,
  clocks: Clocks = systemClocks,
  metrics: LedgerMetrics = createLedgerMetrics(createMetrics()),
) {
  const { pool } = database
  const replicaId = randomUUID()
  const lease = createLease(clocks)
  const charges = createCallCharges(database, replicaId, metrics)
  const endings = createCallEndings(database, metrics)
  const { activeCalls, finish, finishUnwritten, confirm } = endings

  async function submit(charge: Charge): Promise<SpendRow> {
    try {
      const row = await charges.submit(charge)
      return row.outcome === 'locked' ? await charges.submitContended(charge) : row
    } catch (error) {
      throw apiErrorOf(error)
    }
  }

  return {
    replicaId,
    finish,
    finishUnwritten,
    confirm,

    /**
     * Charges the call if its authority holds and its account, and its access key, have the credits. A call that fails does not
     * affect others in its batch.
     *
     * @throws ApiError: nothing was charged, or it is refunded within a minute
     */
    async spend(charge: Charge): Promise<SpendResult> {
      for (;;) {
        const term = lease.term()
        const row = await submit(charge)
        if (row.outcome === 'paid') {
          activeCalls.set(row.usage_id, term)
          return { outcome: 'paid', usageId: row.usage_id, remaining: row.remaining }
        }
        if (row.outcome === 'insufficient') return { outcome: 'insufficient', remaining: row.remaining }
        if (row.outcome === 'revoked' || row.outcome === 'key_limit') return { outcome: row.outcome }
        // Calls before it in the batch left too little for this one; the balance alone may cover it.
      }
    },

    async markCutOff(usageId: bigint): Promise<void> {
      await pool.query({ name: 'cut-off', text: CUT_OFF, values: [usageId] })
    },

    /** If true, no other replica can have refunded the call. If false, only {@link confirm} can tell. */
    hasLease(usageId: bigint): boolean {
      const term = activeCalls.get(usageId)
      return term !== undefined && lease.isHeld(term)
    },

    /**
     * Idempotent: returns false if the credits were already granted. Retry if it rejects.
     *
     * @throws ApiError PAYMENT_PENDING if the account is locked
     */
    async grant(paymentId: string): Promise<boolean> {
      try {
        const { rows } = await pool.query<{ credits: bigint }>({
          name: 'grant',
          text: GRANT,
          values: [paymentId],
        })
        for (const { credits } of rows) metrics.sold.inc(Number(credits))
        return rows.length === 1
      } catch (error) {
        throw isLockTimeout(error) ? creditsPending(error) : error
      }
    },

    async getBalances(wallet: string): Promise<{ planId: number; balance: bigint }[]> {
      const text = 'SELECT pricing_plan_id, balance FROM accounts WHERE wallet = $1 ORDER BY pricing_plan_id'
      const { rows } = await pool.query<{ pricing_plan_id: number; balance: bigint }>({
        name: 'balances',
        text,
        values: [wallet],
      })
      return rows.map((row) => ({ planId: row.pricing_plan_id, balance: row.balance }))
    },

    async sendHeartbeat(): Promise<void> {
      const values = [replicaId]
      const statement = { name: 'heartbeat', text: HEARTBEAT, values, query_timeout: HEARTBEAT_TIMEOUT_MS }
      const acknowledge = lease.beginHeartbeat()
      const { rows } = await pool.query<{ at: Date }>(statement)
      if (rows[0]) acknowledge(rows[0].at)
    },

    /**
     * Refunds orphaned calls, each on its own, and returns their number: calls of dead replicas, and calls of this one whose
     * result was lost with a connection.
     *
     * @throws AggregateError if some refunds failed; a later run repeats them
     */
    async refundOrphans(): Promise<number> {
      const isClockSteady = lease.beginReading()
      const { rows } = await pool.query<{ id: bigint; is_own: boolean; at: Date }>({
        name: 'orphans',
        text: ORPHANS,
        values: [replicaId, DEAD_AFTER_SECONDS, ORPHANED_AFTER_SECONDS],
      })
      if (rows[0] && !isClockSteady(rows[0].at)) return 0
      const refunds = await Promise.allSettled(
        rows
          .filter(({ id, is_own }) => !is_own || !activeCalls.has(id))
          .map(({ id, is_own }) => endings.refund(id, is_own ? 'unconfirmed' : 'replica_died')),
      )
      await pool.query({
        name: 'delete-ended-reservations',
        text: DELETE_ENDED_RESERVATIONS,
        values: [replicaId, DEAD_AFTER_SECONDS],
      })
      await pool.query({
        name: 'delete-dead-replicas',
        text: DELETE_DEAD_REPLICAS,
        values: [DELETE_REPLICAS_AFTER_SECONDS],
      })
      const failures = refunds.filter((refund) => refund.status === 'rejected')
      if (failures.length > 0)
        throw new AggregateError(
          failures.map(({ reason }) => reason as unknown),
          `${failures.length} orphaned calls could not be refunded`,
        )
      return refunds.filter((refund) => refund.status === 'fulfilled' && refund.value).length
    },

    /** Writes what waits, also the ends of calls that end within `callsWithinMs`. */
    async drain({ callsWithinMs = 0 } = {}): Promise<void> {
      await charges.drain()
      if (callsWithinMs > 0) await withTimeout(endings.whenCallsEnded(), callsWithinMs, () => undefined)
      await endings.drain()
      await finishUnwritten()
    },
  }
}
