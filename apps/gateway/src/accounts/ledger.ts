import { type GatewayDatabase } from '@tollgate/database'
import { type Ecosystem } from '@tollgate/protocol'
import { randomUUID } from 'node:crypto'
import { createGroupCommit } from './group-commit'
import { FINISH, GRANT, HEARTBEAT, REAP, SPEND, type SpendRow } from './ledger-sql'

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
  latencyMs: number
}

/** A replica silent for this long is dead: what it had reserved is refunded. */
const DEAD_AFTER_SECONDS = 20
const MAX_UNWRITTEN = 65_536

export type Ledger = ReturnType<typeof createLedger>

/**
 * The credits. Postgres decides everything, one statement at a time: a balance never goes below zero, whatever number of
 * calls and replicas spend at once, and balance = grants + refunds - usage for every account.
 */
export function createLedger({ pool }: GatewayDatabase) {
  const replicaId = randomUUID()

  const spends = createGroupCommit<Charge, SpendRow>({
    lanes: 2,
    maxItems: 512,
    maxWaiting: 8_192,
    async flush(charges) {
      const { rows } = await pool.query<SpendRow>({
        name: 'spend',
        text: SPEND,
        values: [replicaId, ...columns(charges)],
      })
      return rows
    },
  })

  const endings = createGroupCommit<Ending, { finished: boolean }>({
    lanes: 1,
    maxItems: 512,
    maxWaiting: 65_536,
    async flush(items) {
      const { rows } = await pool.query<{ finished: boolean }>({
        name: 'finish',
        text: FINISH,
        values: endingColumns(items),
      })
      return rows
    },
  })

  /** Endings that Postgres did not take; tried again at each beat, so that no call of a living replica stays reserved. */
  const unwritten: Ending[] = []

  /** Ends a paid call, once: false where it was ended already. Resolves when it is durable; one that rejects is tried again. */
  const finish = async (ending: Ending): Promise<boolean> => {
    try {
      return (await endings.submit(ending)).finished
    } catch (error) {
      if (unwritten.length < MAX_UNWRITTEN) unwritten.push(ending)
      throw error
    }
  }

  return {
    replicaId,

    /** Takes the call's credits, if its session lives and its account has them. Each call is taken or refused whole. */
    async spend(charge: Charge): Promise<SpendResult> {
      for (;;) {
        const row = await spends.submit(charge)
        if (row.outcome === 'paid')
          return { outcome: 'paid', usageId: row.usage_id, remaining: row.remaining }
        if (row.outcome === 'insufficient') return { outcome: 'insufficient', remaining: row.remaining }
        if (row.outcome === 'revoked') return { outcome: 'revoked' }
        // A dearer call before it in the same flush left too little to pay both; the balance alone may pay this one.
      }
    },

    finish,

    /** Credits of a settled payment, once: false where they were given already. */
    async grant(paymentId: string): Promise<boolean> {
      const { rows } = await pool.query({ name: 'grant', text: GRANT, values: [paymentId] })
      return rows.length === 1
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

    /** Says that this replica lives, and writes the endings that could not be written when they came. */
    async beat(): Promise<void> {
      await pool.query({ name: 'heartbeat', text: HEARTBEAT, values: [replicaId] })
      await Promise.all(unwritten.splice(0).map(finish))
    },

    /** Refunds what dead replicas had reserved; answers how many calls that were. */
    async reap(): Promise<number> {
      const { rowCount } = await pool.query({ name: 'reap', text: REAP, values: [DEAD_AFTER_SECONDS] })
      return rowCount ?? 0
    },

    drained: () => Promise.all([spends.drained(), endings.drained()]),
  }
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
]
