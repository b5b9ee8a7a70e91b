import { QUERY_TIMEOUT_MS, type GatewayDatabase } from '@tollgate/database'
import { type Ecosystem } from '@tollgate/protocol'
import { randomUUID } from 'node:crypto'
import { systemClocks, type Clocks } from '../clocks'
import { createGroupCommit } from './group-commit'
import { createLease, DEAD_AFTER_SECONDS, type Term } from './lease'
import {
  CUT_OFF,
  FINISH,
  FORGET,
  GRANT,
  HEARTBEAT,
  ORPHANS,
  SPEND,
  type FinishRow,
  type SpendRow,
} from './ledger-sql'
import { accountBusy, creditsFollow, isLockWait, isUndone, refusalOf } from './refusal'
import { createStuck } from './stuck'

/** A call to be paid for. `cost` in credits. */
export type Charge = {
  sessionId: string
  wallet: string
  planId: number
  cost: number
  providerId: string
  ecosystem: Ecosystem
  chainId: string
  transport: 'rpc' | 'rest'
  method: string
  resource: string
  rpcMethod: string | null
}

/** `paid` names the usage row that stands for the call until it is finished; nothing was taken in the other cases. */
export type SpendResult =
  | { outcome: 'paid'; usageId: bigint; remaining: bigint }
  | { outcome: 'insufficient'; remaining: bigint }
  | { outcome: 'revoked' }

/** How a paid call ended. `done` keeps its credits, `refunded` gives them back. */
export type Ending = {
  usageId: bigint
  state: 'done' | 'refunded'
  statusCode: number | null
  outcome: string
  latencyMs: number | null
  /** Whether it also refunds the call where an earlier ending, whose result is not known, charged for it. */
  takesBack?: boolean
}

/** A connection that has died without a word is given up in time for another beat. */
const BEAT_TIMEOUT_MS = 5_000
/** How long an answer waits for its charge to be confirmed. */
const CONFIRM_TIMEOUT_MS = 5_000
/** Later than any answer to a spending statement is waited for: who has no answer by then gets none. */
const UNCLAIMED_AFTER_SECONDS = QUERY_TIMEOUT_MS / 1000 + 10
const FORGET_AFTER_SECONDS = 3_600
const MAX_UNWRITTEN = 65_536
const MAX_SPLITTING_MS = 5_000

export type Ledger = ReturnType<typeof createLedger>

/**
 * The credits. Postgres decides everything, one statement at a time: a balance never goes below zero, whatever number of
 * calls and replicas spend at once, and balance = grants + refunds - usage for every account.
 */
export function createLedger({ pool }: GatewayDatabase, clocks: Clocks = systemClocks) {
  const replicaId = randomUUID()
  const lease = createLease(clocks)

  const write = async <Row extends object>(
    name: string,
    { waiting, skipping }: typeof SPEND,
    values: unknown[],
  ) => {
    try {
      return (await pool.query<Row>({ name, text: waiting, values })).rows
    } catch (error) {
      if (!isLockWait(error)) throw error
      return (await pool.query<Row>({ name: `${name}-skipping`, text: skipping, values })).rows
    }
  }

  const shared = { isUndone, maxItems: 512, maxSplittingMs: MAX_SPLITTING_MS }
  const flush = (charges: Charge[]) => write<SpendRow>('spend', SPEND, [replicaId, ...columns(charges)])
  const spends = createGroupCommit({ ...shared, flush, lanes: 2, maxWaiting: 8_192 })
  /** Where the calls of accounts wait that somebody holds, so that they hold up nobody but each other. */
  const aside = createGroupCommit({ ...shared, flush, lanes: 1, maxWaiting: 1_024 })
  const stuck = createStuck()

  const finishing = {
    ...shared,
    lanes: 1,
    maxWaiting: 65_536,
    flush: (items: Ending[]) => write<FinishRow>('finish', FINISH, endingColumns(items)),
  }
  const endings = createGroupCommit(finishing)
  /** Where endings wait that failed before, or that come late anyway. */
  const lateEndings = createGroupCommit(finishing)

  /** The calls that were paid here and are not ended: a reserved row of this replica that is not among them is nobody's. */
  const underWay = new Map<bigint, Term>()
  /** Endings that Postgres did not take; tried again and again, so that no call of a living replica stays reserved. */
  const unwritten: Ending[] = []

  /** Ends a paid call, once: false where it was ended already. Resolves when it is durable; one that rejects is tried again. */
  const finish = (ending: Ending) => finishIn(endings, ending)

  const finishIn = async (commit: typeof endings, ending: Ending): Promise<boolean> => {
    try {
      const { ended } = await commit.submit(ending)
      if (ended === 'locked') throw accountBusy()
      underWay.delete(ending.usageId)
      return ended === 'now'
    } catch (error) {
      retryLater(ending)
      throw error
    }
  }

  function retryLater(ending: Ending) {
    if (unwritten.length < MAX_UNWRITTEN) unwritten.push(ending)
    else underWay.delete(ending.usageId)
  }

  /** Tries the endings again that could not be written when they came; rejects where one still cannot. */
  const finishUnwritten = async (): Promise<void> => {
    await Promise.all(unwritten.splice(0).map((ending) => finishIn(lateEndings, ending)))
  }

  const submit = async (charge: Charge): Promise<SpendRow> => {
    const isStuck = stuck.has(charge)
    const row = await (isStuck ? aside : spends).submit(charge)
    if (row.outcome !== 'locked') {
      if (isStuck) stuck.free(charge)
      return row
    }
    stuck.add(charge)
    if (isStuck) throw accountBusy()
    return submit(charge)
  }

  return {
    replicaId,

    /**
     * Takes the call's credits, if its session lives and its account has them. Each call is taken or refused whole, and one
     * that cannot be written takes no other with it.
     *
     * @throws ApiError: nothing was taken, or it is given back within a minute
     */
    async spend(charge: Charge): Promise<SpendResult> {
      for (;;) {
        const term = lease.term()
        const row = await submit(charge).catch((error: unknown) => {
          throw refusalOf(error)
        })
        if (row.outcome === 'paid') {
          underWay.set(row.usage_id, term)
          return { outcome: 'paid', usageId: row.usage_id, remaining: row.remaining }
        }
        if (row.outcome === 'insufficient') return { outcome: 'insufficient', remaining: row.remaining }
        if (row.outcome === 'revoked') return { outcome: 'revoked' }
        // A dearer call before it in the same flush left too little to pay both; the balance alone may pay this one.
      }
    },

    finish,
    finishUnwritten,

    /** Writes down that the answer to a call which is charged broke off after its first part. */
    async noteCutOff(usageId: bigint): Promise<void> {
      await pool.query({ name: 'cut-off', text: CUT_OFF, values: [usageId] })
    },

    /** Whether a paid call is still this replica's for certain, as of this moment. Otherwise only {@link confirm} can tell. */
    holds(usageId: bigint): boolean {
      const term = underWay.get(usageId)
      return term !== undefined && lease.isHeld(term)
    },

    /**
     * Charges for a call before it is answered: once true, no replica can refund it. Where that is false, or not known in
     * time, the call must not be answered: its credits are given back, now or as soon as Postgres takes it.
     */
    async confirm(ending: Ending & { state: 'done' }): Promise<boolean> {
      const isCharged = await within(CONFIRM_TIMEOUT_MS, endings.submit(ending)).then(
        ({ ended }) => (ended === 'locked' ? undefined : ended === 'now'),
        () => undefined,
      )
      if (isCharged === undefined) retryLater({ ...refund(ending.usageId, 'not_answered'), takesBack: true })
      else underWay.delete(ending.usageId)
      return isCharged === true
    },

    /**
     * Credits of a settled payment, once: false where they were given already. One that rejects is to be tried again.
     *
     * @throws ApiError PAYMENT_PENDING where somebody holds the account
     */
    async grant(paymentId: string): Promise<boolean> {
      try {
        const { rows } = await pool.query({ name: 'grant', text: GRANT, values: [paymentId] })
        return rows.length === 1
      } catch (error) {
        throw isLockWait(error) ? creditsFollow(error) : error
      }
    },

    async balances(wallet: string): Promise<{ planId: number; balance: bigint }[]> {
      const text = 'SELECT pricing_plan_id, balance FROM accounts WHERE wallet = $1 ORDER BY pricing_plan_id'
      const { rows } = await pool.query<{ pricing_plan_id: number; balance: bigint }>({
        name: 'balances',
        text,
        values: [wallet],
      })
      return rows.map((row) => ({ planId: row.pricing_plan_id, balance: row.balance }))
    },

    /** Says that this replica lives. */
    async beat(): Promise<void> {
      const beat = { name: 'heartbeat', text: HEARTBEAT, values: [replicaId], query_timeout: BEAT_TIMEOUT_MS }
      const acknowledge = lease.beginHeartbeat()
      const { rows } = await pool.query<{ at: Date }>(beat)
      if (rows[0]) acknowledge(rows[0].at)
    },

    /**
     * Refunds the calls that nobody is going to end, each on its own; answers how many those were. They are what dead
     * replicas had reserved, and what this one has reserved without knowing, when a connection broke before it heard of it.
     *
     * @throws AggregateError where some could not be refunded; they are found again
     */
    async reap(): Promise<number> {
      const isSteady = lease.beginReading()
      const { rows } = await pool.query<{ id: bigint; is_own: boolean; at: Date }>({
        name: 'orphans',
        text: ORPHANS,
        values: [replicaId, DEAD_AFTER_SECONDS, UNCLAIMED_AFTER_SECONDS],
      })
      if (rows[0] && !isSteady(rows[0].at)) return 0
      const orphans = rows.filter(({ id, is_own }) => !is_own || !underWay.has(id))
      const ends = await Promise.allSettled(
        orphans.map(({ id, is_own }) =>
          lateEndings.submit(refund(id, is_own ? 'unconfirmed' : 'replica_died')),
        ),
      )
      const failures = ends.filter((end) => end.status === 'rejected').map(({ reason }) => reason as unknown)
      await pool.query({ name: 'forget', text: FORGET, values: [FORGET_AFTER_SECONDS] })
      if (failures.length > 0)
        throw new AggregateError(failures, `${failures.length} calls could not be refunded`)
      return ends.filter((end) => end.status === 'fulfilled' && end.value.ended === 'now').length
    },

    /** Resolves when nothing is under way any more; rejects where an ending could not be written even then. */
    async drained(): Promise<void> {
      await Promise.all([spends, aside, endings, lateEndings].map(({ drained }) => drained()))
      await finishUnwritten()
    },
  }
}

const refund = (usageId: bigint, outcome: string): Ending => ({
  usageId,
  state: 'refunded',
  statusCode: null,
  outcome,
  latencyMs: null,
})

/** @throws Error after `ms` */
async function within<T>(ms: number, result: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`No result within ${ms} ms`)), ms)
  })
  return Promise.race([result, late]).finally(() => clearTimeout(timer))
}

const columns = (charges: Charge[]) => [
  charges.map((charge) => charge.sessionId),
  charges.map((charge) => charge.wallet),
  charges.map((charge) => charge.planId),
  charges.map((charge) => charge.cost),
  charges.map((charge) => charge.providerId),
  charges.map((charge) => charge.ecosystem),
  charges.map((charge) => charge.chainId),
  charges.map((charge) => charge.transport),
  charges.map((charge) => charge.method),
  charges.map((charge) => charge.resource),
  charges.map((charge) => charge.rpcMethod),
]

const endingColumns = (endings: Ending[]) => [
  endings.map((ending) => ending.usageId),
  endings.map((ending) => ending.state),
  endings.map((ending) => ending.statusCode),
  endings.map((ending) => ending.outcome),
  endings.map((ending) => ending.latencyMs),
  endings.map((ending) => ending.takesBack === true),
]
