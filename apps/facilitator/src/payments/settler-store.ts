import { type Terms } from '@tollgate/chains'
import { type Pool, type PoolClient } from '@tollgate/database'
import { type ReasonCode } from '@tollgate/protocol'
import { isOnItsWaySql } from './state'
import { FINAL_CHANNEL } from './store'

/** A claimed payment as it is stored: `payload` is what the payer signed, still to be read by its family. */
export type Claim = {
  id: bigint
  clientId: string
  /** The Idempotency-Key under which it was claimed, and the id of that request; for the log. */
  paymentId: string | null
  requestId: string | null
  payer: string
  payload: unknown
  terms: Terms
  createdAt: Date
  /** A block by which it was found good or paid, or that of what was mined for it since: no state before says anything of it. */
  since: bigint
  /** The newest block when it was claimed, if its nonce was free as of that very block; null where that is not known. */
  judgedBlock: bigint | null
  /** The highest block of any node when it was claimed. */
  seenBlock: bigint
  /** Whether it was settled once, and a reorg undid that. */
  wasSettled: boolean
  isAssetSuspended: boolean
  /** Of all transactions of ours that were mined for it. */
  ownHashes: readonly string[]
  /** Transactions that were sent for it and came to nothing. */
  attempts: number
  /** Whether its authorization lies open, so that anybody may settle it. */
  wasSent: boolean
  /** Whether an operator wants it tried again. */
  isRetried: boolean
  /** Whether somebody was told that it succeeded: then it is reversed where it comes to nothing, and never failed. */
  isHandedOut: boolean
}

/**
 * How a settlement ends. `hash` is that of the transfer, which need not be ours; `detail` is for the payer and the log. A
 * transaction of ours that moved something else is the `mismatch`.
 */
export type Conclusion =
  | { status: 'settled'; hash: string; blockNumber: bigint }
  | {
      status: 'failed'
      reason: ReasonCode
      detail: string
      mismatch?: Mismatch
      /** No node accepted the signed transaction: only its payer can have settled it. */
      isUnsent?: true
    }
export type Mismatch = { hash: string; blockNumber: bigint }

export type SettlerStore = ReturnType<typeof createSettlerStore>

export type Session = Pick<Pool | PoolClient, 'query'>

export type ClaimRow = Omit<Claim, 'payload' | 'terms'> & {
  payload: string
  asset: string
  payTo: string
  amount: string
  symbol: string
  decimals: number
  name: string | null
  version: string | null
}

export const claimColumns = `s.id, s.client_id as "clientId", s.idempotency_key as "paymentId",
  s.request_id as "requestId", s.payer, s.payload, s.asset, s.pay_to as "payTo", s.amount,
  s.created_at as "createdAt", s.since_block as since, s.judged_block as "judgedBlock", s.seen_block as "seenBlock",
  s.settled_at is not null as "wasSettled",
  a.suspended_at is not null as "isAssetSuspended",
  array(select v.hash from charges c join transaction_versions v on v.transaction_id = c.transaction_id
        where c.settlement_id = s.id) as "ownHashes", s.attempts, s.transaction_hash is not null as "wasSent",
  s.retry_at is not null as "isRetried", s.handed_out_at is not null as "isHandedOut", a.symbol, a.decimals, a.name, a.version`

/** Claims of one payer that are looked at together: whoever makes many must not stand in the way of others. */
const OF_ONE_PAYER = 10

/** A payer, by the asset that its balance is in. */
type Account = { asset: string; payer: string }
const accountOf = ({ terms, payer }: Claim): Account => ({ asset: terms.token.asset, payer })
const named = ({ asset, payer }: Account) => `${asset} ${payer}`

/** Claims until they are signed, or end without. What is done on a `session` is part of the transaction open there. */
export function createSettlerStore() {
  return {
    /**
     * Up to `limit` claimed payments, locked until the transaction ends, the longest waiting first, and not many of one payer;
     * those that another signer has locked are left to it. `except` are left out, but for those that an operator wants tried
     * again, and so are those of a payer while another payment of its that came to nothing is on its way again, or about to be.
     */
    async lockClaimed(
      session: Session,
      network: string,
      limit: number,
      except: readonly bigint[],
    ): Promise<Claim[]> {
      const { rows } = await session.query<ClaimRow>(
        `select ${claimColumns}
         from settlements s join assets a on a.network = s.network and a.asset = s.asset
         where s.id in (
           select id from (
             select id, row_number() over (partition by asset, payer order by id) as place from settlements c
             where network = $1 and status = 'claimed' and (id <> all($3) or retry_at is not null)
               and (attempts > 0 or not exists (
                 select from settlements o where o.network = $1 and o.asset = c.asset and o.payer = c.payer
                   and o.attempts > 0
                   and (o.status = 'signed' or o.status = 'claimed' and o.problem is null)))
           ) as waiting where place <= ${OF_ONE_PAYER} order by id limit $2
         ) and s.status = 'claimed'
         order by s.id for update of s skip locked`,
        [network, limit, except],
      )
      return rows.map(toClaim)
    },

    /**
     * What of each payer's balance is spoken for: `reserved` by its payments on their way, `before` by those that come before
     * this one in `claims`; and how many of our transactions of the last day its payments in the same asset had mined `inVain`.
     * Until the transaction ends nobody else may send a payment of these payers; claims of payers that somebody else has are left out.
     */
    async reserve(
      session: Session,
      network: string,
      claims: readonly Claim[],
    ): Promise<{ claim: Claim; reserved: bigint; before: bigint; inVain: number }[]> {
      const accounts = [
        ...new Map(claims.map(accountOf).map((account) => [named(account), account])).values(),
      ]
      const locked = await session.query<Account>(
        `select asset, payer from unnest($2::text[], $3::text[]) as account (asset, payer)
         where pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', 'payer', $1::text, asset, payer), 0))`,
        [network, accounts.map(({ asset }) => asset), accounts.map(({ payer }) => payer)],
      )
      const ours = locked.rows
      // A statement of its own: it must see what was committed before the locks were had.
      const { rows } = await session.query<Account & { amount: string }>(
        `select asset, payer, sum(amount) as amount from settlements s
         where network = $1 and ${isOnItsWaySql('s')} and (asset, payer) in (select * from unnest($2::text[], $3::text[]))
         group by asset, payer`,
        [network, ours.map(({ asset }) => asset), ours.map(({ payer }) => payer)],
      )
      const vain = await session.query<Account & { count: bigint }>(
        `select s.asset, s.payer, count(distinct c.transaction_id) from settlements s
           join charges c on c.settlement_id = s.id join transactions t on t.id = c.transaction_id
         where s.network = $1 and (s.asset, s.payer) in (select * from unnest($2::text[], $3::text[])) and s.attempts > 0 and s.status <> 'settled'
           and (not t.is_first or s.attempts > 1 or s.status not in ('claimed', 'signed'))
           and c.fee > 0 and t.signed_at > now() - interval '1 day'
         group by s.asset, s.payer`,
        [network, ours.map(({ asset }) => asset), ours.map(({ payer }) => payer)],
      )
      const inVain = new Map(vain.rows.map((row) => [named(row), Number(row.count)]))
      const reserved = new Map(ours.map((account) => [named(account), 0n]))
      for (const row of rows) reserved.set(named(row), BigInt(row.amount))
      const taken = new Map<string, bigint>()
      return claims.flatMap((claim) => {
        const account = named(accountOf(claim))
        const onTheirWay = reserved.get(account)
        if (onTheirWay === undefined) return []
        const before = taken.get(account) ?? 0n
        taken.set(account, before + claim.terms.amount)
        return [{ claim, reserved: onTheirWay, before, inVain: inVain.get(account) ?? 0 }]
      })
    },

    /** Why these settlements do not go on at present, for operators; what they asked for is then done. */
    async noteProblem(session: Session, ids: readonly bigint[], problem: string): Promise<void> {
      await session.query(
        `update settlements set problem = $2, retry_at = null
         where id = any($1) and (problem is distinct from $2 or retry_at is not null)`,
        [ids, problem.slice(0, 500)],
      )
    },

    /** Ends a settlement that has no transaction on its way, once, and tells those who wait for it. A mismatch suspends its asset. */
    async conclude(session: Session, id: bigint, conclusion: Conclusion): Promise<void> {
      const [hash, blockNumber, reason, detail] =
        conclusion.status === 'settled'
          ? [conclusion.hash, conclusion.blockNumber, null, null]
          : [
              conclusion.mismatch?.hash ?? null,
              conclusion.mismatch?.blockNumber ?? null,
              conclusion.reason,
              storedDetail(conclusion.detail),
            ]
      await session.query(
        `with ended as (
           update settlements
           set status = ${endStatus('$2')}, transaction_hash = coalesce($3, transaction_hash), block_number = $4,
             error_reason = $5, error_detail = $6, settled_at = ${settledAt('$2')}, problem = null, retry_at = null,
             updated_at = now()
           where id = $1 and status = 'claimed'
           returning *
         ), suspended as (${SUSPEND_MISMATCHED})
         select pg_notify('${FINAL_CHANNEL}', id::text) from ended`,
        [id, conclusion.status, hash, blockNumber, reason, detail],
      )
    },
  }
}

/** Postgres takes no NUL in text; a node's words may hold one. */
export const storedDetail = (detail: string): string => detail.slice(0, 500).replaceAll('\0', '?')

/** Takes the asset of what `ended` by a mismatch out of use: the next payment in it would move another amount as well. */
export const SUSPEND_MISMATCHED = `
  update assets a set active = false, suspended_at = now(),
    suspension = 'transaction ' || e.transaction_hash || ' moved another amount than settlement ' || e.id || ' is for'
  from ended e
  where e.error_reason = 'transfer_event_mismatch' and a.network = e.network and a.asset = e.asset and a.suspended_at is null`

/** Success that was handed out is not a failure any more, whatever comes: it was reversed. */
export const endStatus = (status: string) =>
  `case when ${status} = 'failed' and handed_out_at is not null then 'reversed' else ${status} end`
export const settledAt = (status: string) =>
  `case when ${status} = 'settled' then coalesce(settled_at, now()) else settled_at end`

export function toClaim(row: ClaimRow): Claim {
  const { id, clientId, paymentId, requestId, payer, createdAt, since, attempts, wasSent } = row
  const { isRetried, isHandedOut, judgedBlock, seenBlock, wasSettled, isAssetSuspended, ownHashes } = row
  const { asset, symbol, decimals, name, version, payTo, amount } = row
  const token = {
    asset,
    symbol,
    decimals,
    ...(name === null ? {} : { name }),
    ...(version === null ? {} : { version }),
  }
  const payload: unknown = JSON.parse(row.payload)
  const terms = { token, payTo, amount: BigInt(amount) }
  return {
    id,
    clientId,
    paymentId,
    requestId,
    payer,
    payload,
    terms,
    createdAt,
    since,
    judgedBlock,
    seenBlock,
    wasSettled,
    isAssetSuspended,
    ownHashes,
    attempts,
    wasSent,
    isRetried,
    isHandedOut,
  }
}
