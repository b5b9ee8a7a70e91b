import { type PoolClient } from '@tollgate/database'
import { isInFlightSql } from '../status'
import { FINAL_CHANNEL } from '../channels'
import { type Claim, type ClaimOutcome } from './claim'
import { isDeniedSql } from './denied-payment'
import { type Session } from '../session'
import { suspendAssets } from './suspend-assets'

export type ClaimStore = ReturnType<typeof createClaimStore>

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

export const claimColumns = `s.id, s.client_id AS "clientId", s.idempotency_key AS "idempotencyKey",
  s.request_id AS "requestId", s.traceparent, s.payer, s.payload, s.asset, s.pay_to AS "payTo", s.amount,
  s.created_at AS "createdAt", s.min_block AS "minBlock", s.unspent_at_block AS "unspentAtBlock", s.seen_block AS "seenBlock",
  s.settled_at IS NOT NULL AS "wasSettled", s.counts_arrived AS "countsArrived", s.arrived,
  a.suspended_at IS NOT NULL AS "isAssetSuspended", ${isDeniedSql('s.payer', 's.pay_to')} AS "isDenied",
  ARRAY(SELECT v.hash FROM fee_allocations c JOIN transaction_versions v ON v.transaction_id = c.transaction_id
        WHERE c.settlement_id = s.id) AS "ownHashes", s.attempts, s.transaction_hash IS NOT NULL AS "hasTransaction",
  s.retry_requested_at IS NOT NULL AS "isRetryRequested", s.success_reported_at IS NOT NULL AS "isReported", a.symbol, a.decimals, a.name, a.version`

/** Claims of one payer in a batch: a payer with many claims must not delay others. */
const OF_ONE_PAYER = 10

type Account = { asset: string; payer: string }
const accountOf = ({ terms, payer }: Claim): Account => ({ asset: terms.token.asset, payer })
const named = ({ asset, payer }: Account) => `${asset} ${payer}`

/** After success was reported, a settlement that fails is `reversed`. */
export const outcomeStatus = (status: string) =>
  `CASE WHEN ${status} = 'failed' AND success_reported_at IS NOT NULL THEN 'reversed' ELSE ${status} END`
export const settledAt = (status: string) =>
  `CASE WHEN ${status} = 'settled' THEN coalesce(settled_at, now()) ELSE settled_at END`

/** Locks rows in the order of their ids, as every statement does, to avoid deadlocks. */
const NOTE_PROBLEM = `
UPDATE settlements SET last_error = $2, retry_requested_at = NULL
FROM (
  SELECT id FROM settlements
  WHERE id = ANY($1) AND (last_error IS DISTINCT FROM $2 OR retry_requested_at IS NOT NULL) ORDER BY id FOR UPDATE
) AS noted WHERE settlements.id = noted.id`

const CONCLUDE = `
UPDATE settlements
SET status = ${outcomeStatus('$2')}, transaction_hash = coalesce($3, transaction_hash), block_number = $4,
  transfer = coalesce($7, CASE WHEN transaction_hash = $3 THEN transfer END), arrived = arrived OR $8,
  error_reason = $5, error_detail = $6, settled_at = ${settledAt('$2')}, last_error = NULL, retry_requested_at = NULL,
  updated_at = now()
WHERE id = $1 AND status = 'claimed' RETURNING pg_notify('${FINAL_CHANNEL}', id::text)`

/** Claims until they are signed or completed. Statements on a `session` are part of the database transaction open there. */
export function createClaimStore() {
  return {
    /**
     * Locks up to `limit` claims until the transaction ends, oldest first, with at most OF_ONE_PAYER of a payer. Skips claims
     * that another signer has locked, those in `except` unless an operator retries them, and payers with a failed payment in flight again.
     */
    async lockClaimed(
      session: Session,
      network: string,
      limit: number,
      except: readonly bigint[],
    ): Promise<Claim[]> {
      const { rows } = await session.query<ClaimRow>(
        `SELECT ${claimColumns}
         FROM settlements s JOIN assets a ON a.network = s.network AND a.asset = s.asset
         WHERE s.id IN (
           SELECT id FROM (
             SELECT id, row_number() OVER (PARTITION BY asset, payer ORDER BY id) AS place FROM settlements c
             WHERE network = $1 AND status = 'claimed' AND (id <> ALL($3) OR retry_requested_at IS NOT NULL)
               AND (attempts > 0 OR NOT EXISTS (
                 SELECT FROM settlements o WHERE o.network = $1 AND o.asset = c.asset AND o.payer = c.payer
                   AND o.attempts > 0
                   AND (o.status = 'signed' OR o.status = 'claimed' AND o.last_error IS NULL)))
           ) AS waiting WHERE place <= ${OF_ONE_PAYER} ORDER BY id LIMIT $2
         ) AND s.status = 'claimed'
         ORDER BY s.id FOR UPDATE of s SKIP LOCKED`,
        [network, limit, except],
      )
      return rows.map(toClaim)
    },

    /**
     * Returns for each payer what its payments in flight reserve of its balance, what earlier ones in `claims` add (`before`), and
     * how many mined transactions of the last day settled nothing (`wasted`). Locks the payers until the transaction ends; skips
     * claims of payers that another signer has locked.
     */
    async reserve(
      session: Session,
      network: string,
      claims: readonly Claim[],
    ): Promise<{ claim: Claim; reserved: bigint; before: bigint; wasted: number }[]> {
      const accounts = [
        ...new Map(claims.map(accountOf).map((account) => [named(account), account])).values(),
      ]
      const locked = await session.query<Account>(
        `SELECT asset, payer FROM unnest($2::text[], $3::text[]) AS account (asset, payer)
         WHERE pg_try_advisory_xact_lock(hashtextextended(concat_ws(' ', 'payer', $1::text, asset, payer), 0))`,
        [network, accounts.map(({ asset }) => asset), accounts.map(({ payer }) => payer)],
      )
      const ours = locked.rows
      // After the locks: it must see what the previous holders committed.
      const { rows } = await session.query<Account & { amount: string }>(
        `SELECT asset, payer, sum(amount) AS amount FROM settlements s
         WHERE network = $1 AND ${isInFlightSql('s')} AND (asset, payer) IN (SELECT * FROM unnest($2::text[], $3::text[]))
         GROUP BY asset, payer`,
        [network, ours.map(({ asset }) => asset), ours.map(({ payer }) => payer)],
      )
      const wasted = await session.query<Account & { count: bigint }>(
        `SELECT s.asset, s.payer, count(DISTINCT c.transaction_id) FROM settlements s
           JOIN fee_allocations c ON c.settlement_id = s.id JOIN transactions t ON t.id = c.transaction_id
         WHERE s.network = $1 AND (s.asset, s.payer) IN (SELECT * FROM unnest($2::text[], $3::text[])) AND s.attempts > 0 AND s.status <> 'settled'
           AND (NOT t.is_fee_grant OR s.attempts > 1 OR s.status NOT IN ('claimed', 'signed'))
           AND c.fee > 0 AND t.signed_at > now() - INTERVAL '1 day'
         GROUP BY s.asset, s.payer`,
        [network, ours.map(({ asset }) => asset), ours.map(({ payer }) => payer)],
      )
      const wastedOf = new Map(wasted.rows.map((row) => [named(row), Number(row.count)]))
      const reserved = new Map(ours.map((account) => [named(account), 0n]))
      for (const row of rows) reserved.set(named(row), BigInt(row.amount))
      const taken = new Map<string, bigint>()
      return claims.flatMap((claim) => {
        const account = named(accountOf(claim))
        const onTheirWay = reserved.get(account)
        if (onTheirWay === undefined) return []
        const before = taken.get(account) ?? 0n
        taken.set(account, before + claim.terms.amount)
        return [{ claim, reserved: onTheirWay, before, wasted: wastedOf.get(account) ?? 0 }]
      })
    },

    /** Records for operators why these settlements wait, and fulfils a request to retry them. */
    async noteProblem(session: Session, ids: readonly bigint[], problem: string): Promise<void> {
      await session.query(NOTE_PROBLEM, [ids, problem.slice(0, 500)])
    },

    /**
     * Completes a claim that is in no transaction, and notifies waiting requests. A mismatch suspends its asset. Must run in a
     * transaction. Idempotent.
     */
    async conclude(session: PoolClient, id: bigint, outcome: ClaimOutcome): Promise<void> {
      const failure = outcome.status === 'failed' ? outcome : undefined
      const transfer = outcome.status === 'settled' ? outcome : outcome.mismatch
      const { rowCount } = await session.query(CONCLUDE, [
        id,
        outcome.status,
        transfer?.hash ?? null,
        transfer?.blockNumber ?? null,
        failure?.reason ?? null,
        failure ? storedDetail(failure.detail) : null,
        (outcome.status === 'settled' && outcome.place) || null,
        outcome.status === 'settled' && outcome.arrived === true,
      ])
      if (rowCount === 1 && failure?.reason === 'transfer_event_mismatch') await suspendAssets(session, [id])
    },
  }
}

/** Postgres allows no NUL in text; a node's message may contain one. */
export const storedDetail = (detail: string): string => detail.slice(0, 500).replaceAll('\0', '?')

export function toClaim(row: ClaimRow): Claim {
  const { id, clientId, idempotencyKey, requestId, traceparent, payer, createdAt, minBlock } = row
  const { attempts, hasTransaction } = row
  const {
    isRetryRequested,
    isReported,
    unspentAtBlock,
    seenBlock,
    wasSettled,
    countsArrived,
    arrived,
    isAssetSuspended,
    isDenied,
    ownHashes,
  } = row
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
    idempotencyKey,
    requestId,
    traceparent,
    payer,
    payload,
    terms,
    createdAt,
    minBlock,
    unspentAtBlock,
    seenBlock,
    wasSettled,
    countsArrived,
    arrived,
    isAssetSuspended,
    isDenied,
    ownHashes,
    attempts,
    hasTransaction,
    isRetryRequested,
    isReported,
  }
}
