import { openGatewayDatabase } from '@tollgate/database'
import { until } from './paying'

const invariants = {
  'a balance below zero': 'SELECT id FROM accounts WHERE balance < 0',
  'a balance that is not grants + refunds - usage': `
    SELECT accounts.id FROM accounts WHERE balance <>
      (SELECT coalesce(sum(credits), 0) FROM grants WHERE account_id = accounts.id)
      + (SELECT coalesce(sum(credits), 0) FROM usage WHERE account_id = accounts.id AND state = 'refunded')
      - archived_credits
      - (SELECT coalesce(sum(credits), 0) FROM usage WHERE account_id = accounts.id)`,
  'a payment granted more than once': 'SELECT payment_id FROM grants GROUP BY payment_id HAVING count(*) > 1',
  'a credited payment without its whole grant, or a grant without it': `
    SELECT payments.id FROM payments LEFT JOIN grants ON grants.payment_id = payments.id
    WHERE (payments.status = 'credited') <> (grants.id IS NOT NULL) OR payments.credits <> grants.credits`,
}

export type UsageRow = {
  resource: string
  wallet: string
  state: string
  outcome: string | null
  credits: number
}
export type PaymentRow = {
  payer: string
  nonce: string
  status: string
  transaction: string | null
  credits: number
  grants: bigint
}

export type LedgerQueries = ReturnType<typeof openLedgerQueries>

/** Reads the gateway's Postgres directly. */
export function openLedgerQueries(url: string) {
  const database = openGatewayDatabase({ url, poolSize: 2 })
  const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
    (await database.pool.query<Row>(text, values)).rows
  const count = async (text: string, values: unknown[] = []) =>
    Number((await rows<{ count: bigint }>(`SELECT count(*) ${text}`, values))[0]?.count)

  return {
    rows,
    count,

    usage: (prefix: string) =>
      rows<UsageRow>(
        `SELECT resource, wallet, state, outcome, usage.credits FROM usage JOIN accounts ON accounts.id = account_id
         WHERE starts_with(resource, $1) ORDER BY usage.id`,
        [prefix],
      ),

    /** All payments, or those of one wallet, with the number of their grants. */
    payments: (wallet?: string) =>
      rows<PaymentRow>(
        `SELECT payer, nonce, status, transaction, credits,
           (SELECT count(*) FROM grants WHERE payment_id = payments.id) AS grants
         FROM payments WHERE $1::text IS NULL OR wallet = $1 ORDER BY created_at`,
        [wallet],
      ),

    balance: async (wallet: string) =>
      (await rows<{ balance: bigint }>('SELECT balance FROM accounts WHERE wallet = $1', [wallet])).reduce(
        (sum, account) => sum + account.balance,
        0n,
      ),

    /** Resolves when every paid call has ended: its row is written after the answer. */
    settled: (seconds: number) =>
      until(
        () => count("FROM usage WHERE state = 'reserved'"),
        (reserved) => reserved === 0,
        seconds,
      ),

    /** Holds a lock during `during`, so that statements queue for it and continue together. */
    async whileLocked(lock: { text: string; values?: unknown[] }, during: () => Promise<unknown>) {
      const client = await database.pool.connect()
      try {
        await client.query('BEGIN')
        await client.query(lock)
        await during()
      } finally {
        await client.query('ROLLBACK').finally(() => client.release())
      }
    },

    waiting: () =>
      count("FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"),

    /** Ends the connections of the statements that wait for a lock, so that they are not executed. */
    endWaiting: () =>
      rows(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE wait_event_type = 'Lock' AND datname = current_database()`,
      ),

    async broken() {
      const found: string[] = []
      for (const [name, query] of Object.entries(invariants))
        if ((await rows(query)).length > 0) found.push(name)
      return found
    },

    close: () => database.close(),
  }
}
