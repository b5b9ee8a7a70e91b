import { openFacilitatorDatabase } from '@tollgate/database'
import { type Fees, type PayingChain } from './paying-chain'

export type SettlementRow = {
  /** The id that the paying chain uses. */
  id: string
  status: string
  isReported: boolean
  transaction: string | null
  attempts: number
  errorReason: string | null
}

export type TransactionRow = {
  signer: string
  nonce: bigint | null
  hash: string
  status: string
  versions: bigint
}

export type SettlementQueries = ReturnType<typeof openSettlementQueries>

export function openSettlementQueries(url: string) {
  const { pool, close } = openFacilitatorDatabase({ url, poolSize: 2 })
  const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
    (await pool.query<Row>(text, values)).rows

  return {
    rows,

    paidTo: (payTo: string) =>
      rows<SettlementRow>(
        `SELECT lower(payer || ' ' || nonce) AS id, status, success_reported_at IS NOT NULL AS "isReported", transaction_hash AS transaction, attempts,
           error_reason AS "errorReason"
         FROM settlements WHERE pay_to = $1 ORDER BY id`,
        [payTo],
      ),

    open: async () =>
      Number(
        (
          await rows<{ count: bigint }>(
            `SELECT count(*) FROM settlements
             WHERE status IN ('claimed', 'signed') OR (status = 'reversed' AND error_reason IS NULL)`,
          )
        )[0]?.count,
      ),

    /** All signed transactions, each with the number of its versions. */
    transactions: () =>
      rows<TransactionRow>(
        `SELECT signer, nonce, hash, status,
           (SELECT count(*) FROM transaction_versions WHERE transaction_id = transactions.id) AS versions
         FROM transactions ORDER BY id`,
      ),

    async fees(): Promise<Fees> {
      const [sums] = await rows<Record<keyof Fees, string>>(
        `SELECT (SELECT coalesce(sum(fee), 0) FROM transactions) AS transactions,
           (SELECT coalesce(sum(fee), 0) FROM fee_allocations) AS charges,
           (SELECT coalesce(sum(fee), 0) FROM settlements) AS settlements`,
      )
      const of = (name: keyof Fees) => BigInt(sums?.[name] ?? 0)
      return { transactions: of('transactions'), charges: of('charges'), settlements: of('settlements') }
    },

    versions: async () =>
      (await rows<{ raw: string }>('SELECT raw FROM transaction_versions')).map(({ raw }) => raw),

    /**
     * Problems with the signers' nonces: the stored ones must be contiguous from 0, and the chain must have used exactly these.
     * Valid only if the facilitator alone uses those keys and no transaction is in flight.
     */
    async nonceProblems(chain: PayingChain): Promise<string[]> {
      const stored = await rows<{ signer: string; count: bigint; next: bigint }>(
        `SELECT signer, count(nonce), coalesce(max(nonce) + 1, 0) AS next
         FROM unnest($1::text[]) AS signer LEFT JOIN transactions USING (signer) GROUP BY signer`,
        [chain.signers],
      )
      const problems = await Promise.all(
        stored.map(async ({ signer, count, next }) => {
          const used = await chain.transactionsOf(signer)
          return count === next && next === used
            ? []
            : [`nonces of ${signer}: ${count} stored, the next is ${next}, the chain has used ${used}`]
        }),
      )
      return problems.flat()
    },

    /**
     * The holder of each signer's lock: the process id of its Postgres session, and the start of that
     * session.
     */
    owners: ({ network, signers }: PayingChain) =>
      rows<{ signer: string; session: number; since: Date }>(
        `SELECT signer, a.pid AS session, a.backend_start AS since
         FROM unnest($1::text[]) AS signer
           JOIN pg_locks l ON l.locktype = 'advisory' AND l.granted
             AND (l.classid::bigint << 32) | l.objid::bigint = hashtextextended('settler ' || $2 || ' ' || signer, 0)
           JOIN pg_stat_activity a ON a.pid = l.pid AND a.datname = current_database()`,
        [signers, network],
      ),

    close,
  }
}
