import { openFacilitatorDatabase } from '@tollgate/database'
import { type PayingChain } from './paying-chain'

export type SettlementRow = {
  /** As the paying chain names the payment. */
  id: string
  status: string
  handedOut: boolean
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

/** What fees came to, in the native smallest unit, by each place where they are written down. */
export type Fees = { transactions: bigint; charges: bigint; settlements: bigint }

export type SettlementBooks = ReturnType<typeof openSettlementBooks>

/** The facilitator's Postgres, looked into from outside. */
export function openSettlementBooks(url: string) {
  const { pool, close } = openFacilitatorDatabase({ url, poolSize: 2 })
  const rows = async <Row extends object>(text: string, values: unknown[] = []) =>
    (await pool.query<Row>(text, values)).rows

  return {
    rows,

    /** All settlements to an address. */
    paidTo: (payTo: string) =>
      rows<SettlementRow>(
        `select lower(payer || ' ' || nonce) as id, status, handed_out_at is not null as "handedOut", transaction_hash as transaction, attempts,
           error_reason as "errorReason"
         from settlements where pay_to = $1 order by id`,
        [payTo],
      ),

    /** Settlements that have not ended, of all. */
    open: async () =>
      Number(
        (
          await rows<{ count: bigint }>(
            `select count(*) from settlements
             where status in ('claimed', 'signed') or (status = 'reversed' and error_reason is null)`,
          )
        )[0]?.count,
      ),

    /** All transactions that were signed, each with the number of its versions. */
    transactions: () =>
      rows<TransactionRow>(
        `select signer, nonce, hash, status,
           (select count(*) from transaction_versions where transaction_id = transactions.id) as versions
         from transactions order by id`,
      ),

    /** What all transactions together cost. */
    async fees(): Promise<Fees> {
      const [sums] = await rows<Record<keyof Fees, string>>(
        `select (select coalesce(sum(fee), 0) from transactions) as transactions,
           (select coalesce(sum(fee), 0) from charges) as charges,
           (select coalesce(sum(fee), 0) from settlements) as settlements`,
      )
      const of = (name: keyof Fees) => BigInt(sums?.[name] ?? 0)
      return { transactions: of('transactions'), charges: of('charges'), settlements: of('settlements') }
    },

    /** Every version of every transaction, as it was signed. */
    versions: async () =>
      (await rows<{ raw: string }>('select raw from transaction_versions')).map(({ raw }) => raw),

    /**
     * What does not hold of the signers' nonces: ours must be in a row from 0 on, and the chain must have used exactly these.
     * True only where nobody sends from those keys but the facilitator, and nothing is under way.
     */
    async nonceProblems(chain: PayingChain): Promise<string[]> {
      const stored = await rows<{ signer: string; count: bigint; next: bigint }>(
        `select signer, count(nonce), coalesce(max(nonce) + 1, 0) as next
         from unnest($1::text[]) as signer left join transactions using (signer) group by signer`,
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

    /** Who holds each signer's lock: the process id of its Postgres session, and since when that session is there. */
    owners: ({ network, signers }: PayingChain) =>
      rows<{ signer: string; session: number; since: Date }>(
        `select signer, a.pid as session, a.backend_start as since
         from unnest($1::text[]) as signer
           join pg_locks l on l.locktype = 'advisory' and l.granted
             and (l.classid::bigint << 32) | l.objid::bigint = hashtextextended('settler ' || $2 || ' ' || signer, 0)
           join pg_stat_activity a on a.pid = l.pid and a.datname = current_database()`,
        [signers, network],
      ),

    close,
  }
}
