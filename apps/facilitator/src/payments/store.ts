import { type Transfer } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type ReasonCode } from '@tollgate/protocol'
import { createBatchLoader } from '../batch-loader'
import { createBatchWriter } from '../batch-writer'
import { type PaymentRequest } from './payment-request'
import { type Session } from '../settlement/session'
import { inShortTransaction } from '../settlement/short-transaction'
import {
  columns,
  FIND,
  FIND_MINED_PAYER_TRANSACTION,
  INSERT_CLAIMS,
  LOCK_FAILED,
  RECLAIM,
  REPORT_SUCCESSES,
} from './store-statements'
import { isMismatched, isOpenSql, type SettlementStatus } from '../settlement/status'

export type Requester = { clientId: string; requestHash: Buffer; idempotencyKey: string | null }

export type Settlement = Requester & {
  id: bigint
  /** Of the request that claimed it. */
  requestId: string | null
  traceparent: string | null
  network: string
  payer: string
  status: SettlementStatus
  transactionHash: string | null
  blockNumber: bigint | null
  /** The transfer was on chain before the payment was claimed. */
  arrived: boolean
  errorReason: ReasonCode | null
  /** For log and response texts; decisions use `errorReason`. */
  errorDetail: string | null
  settledAt: Date | null
  endedAt: Date | null
  successReportedAt: Date | null
}

/**
 * Why a payment can be claimed: `valid`; `unused`, a valid transaction signed by its payer, whose nonce is therefore free;
 * `paid`, an earlier broadcast for it was mined after all; or `arrived`, it was made before it was presented, to a recipient that
 * the claiming user has reserved.
 */
export type ClaimBasis = 'valid' | 'unused' | 'paid' | 'arrived'

/** The blocks decide later whether a transfer was made for this claim. */
export type ClaimEvidence = {
  basis: ClaimBasis
  /** The payment was found valid or paid by this block. */
  minBlock: bigint
  /** The payment's nonce was unused in this block. */
  unspentAtBlock: bigint | null
  /** The newest block of any node: a later transfer may be for this claim. */
  seenBlock: bigint
  /** The earlier claim was for the same payment: its `unspentAtBlock` and `seenBlock` still hold. */
  isSamePayment: boolean
  /** The claiming user has reserved the recipient: a transfer from before the claim counts, if that still holds at the claim. */
  isOwnRecipient?: boolean
  /** The basis `arrived` has it. */
  arrived?: Pick<Transfer, 'hash' | 'place'>
}

export type NewClaim = ClaimEvidence & {
  requestId: string
  traceparent: string | undefined
  /** The end of the claim window, by the clock of Postgres. */
  until: Date
}

export type EarlierClaim = { payload: unknown; unspentAtBlock: bigint | null; seenBlock: bigint }

/** `replaced`: the claiming key is deleted or expired. `same-user`: both keys of the user are valid. */
export type KeyRelation = 'same' | 'replaced' | 'same-user' | 'unrelated'

export type SettlementStore = ReturnType<typeof createSettlementStore>

type PaymentKey = { asset: string; nonce: string }
type KeyedSettlement = Settlement & PaymentKey
const keyOf = ({ network, asset, payer, nonce }: Pick<KeyedSettlement, 'network' | 'payer'> & PaymentKey) =>
  JSON.stringify([network, asset, payer, nonce])

const paymentKeyOf = ({ network, terms, payment }: PaymentRequest) => [
  network.name,
  terms.token.asset,
  payment.payer,
  payment.nonce,
]

const CLOCK = 'clock'

type Claim = { paymentKey: string[]; claimed: unknown[] }
type Report = { id: bigint } & Pick<Requester, 'clientId' | 'idempotencyKey'>
const LANES = 4

/** The values of each column of these rows. */
const columnsOf = (rows: readonly unknown[][]): unknown[][] =>
  (rows[0] ?? []).map((_, column) => rows.map((row) => row[column]))

/** The settlements as clients see them; the settler uses the claim store. */
export function createSettlementStore(pool: Pool) {
  async function one(
    text: string,
    values: unknown[],
    session: Session = pool,
  ): Promise<Settlement | undefined> {
    const { rows } = await session.query<Settlement>(text, values)
    return rows[0]
  }

  const find = createBatchLoader<Settlement>(async (keys) => {
    const values = columnsOf(keys.map((key) => JSON.parse(key) as string[]))
    const { rows } = await pool.query<KeyedSettlement>({ name: 'find-settlements', text: FIND, values })
    return new Map(rows.map((row) => [keyOf(row), row]))
  })

  const readClock = createBatchLoader<Date>(async () => {
    const { rows } = await pool.query<{ now: Date }>('SELECT clock_timestamp() AS now')
    return new Map(rows.map(({ now }) => [CLOCK, now]))
  })

  const insertClaim = createBatchWriter<Claim, Settlement>({
    keyOf: ({ paymentKey }) => JSON.stringify(paymentKey),
    lanes: LANES,
    async write(claims) {
      const values = columnsOf(claims.map(({ paymentKey, claimed }) => [...paymentKey, ...claimed]))
      const { rows } = await pool.query<KeyedSettlement>({
        name: 'insert-claims',
        text: INSERT_CLAIMS,
        values,
      })
      return new Map(rows.map((row) => [keyOf(row), row]))
    },
  })

  const report = createBatchWriter<Report, true>({
    keyOf: ({ id }) => String(id),
    lanes: LANES,
    async write(reports) {
      const values = columnsOf(
        reports.map(({ id, idempotencyKey, clientId }) => [id, idempotencyKey, clientId]),
      )
      const { rows } = await pool.query<{ id: bigint }>({
        name: 'report-successes',
        text: REPORT_SUCCESSES,
        values,
      })
      return new Map(rows.map(({ id }) => [String(id), true]))
    },
  })

  const reclaim = (paymentKey: string[], claimed: unknown[], { basis, isSamePayment }: ClaimEvidence) =>
    inShortTransaction(pool, async (session) => {
      const failed = await lockFailed(session, paymentKey)
      if (!failed || !(await allowsReclaim(session, failed, basis))) return undefined
      return one(RECLAIM, [failed.id, ...claimed, basis, isSamePayment], session)
    })

  return {
    async clock(): Promise<Date> {
      const time = await readClock(CLOCK)
      if (!time) throw new Error('Postgres returned no time')
      return time
    },

    find: (request: PaymentRequest): Promise<Settlement | undefined> =>
      find(JSON.stringify(paymentKeyOf(request))),

    /**
     * Claims the payment for exactly one of any number of callers, on any replica. The others get undefined, as does a claim
     * after `until`, one of a recipient that another user has reserved, one that an operator denies, and one of an arrived payment
     * whose recipient is not reserved any more, or whose transfer another settlement has.
     *
     * New payments of different callers share a statement. A failed one is reclaimed in a short transaction, so that no resolution changes what
     * the claim depends on.
     */
    async claim(
      request: PaymentRequest,
      requester: Requester,
      newClaim: NewClaim,
    ): Promise<Settlement | undefined> {
      const paymentKey = paymentKeyOf(request)
      const claimed = valuesOf(request, requester, newClaim)
      return (await insertClaim({ paymentKey, claimed })) ?? (await reclaim(paymentKey, claimed, newClaim))
    },

    /** The payload of the latest claim, with the blocks of the first claim of the same payment. */
    async findEarlierClaim(id: bigint): Promise<EarlierClaim | undefined> {
      const { rows } = await pool.query<EarlierClaim & { payload: string }>(
        `SELECT payload, unspent_at_block AS "unspentAtBlock", seen_block AS "seenBlock" FROM settlements WHERE id = $1`,
        [id],
      )
      return rows[0] && { ...rows[0], payload: JSON.parse(rows[0].payload) as unknown }
    },

    async keyRelation(clientId: string, claimingClientId: string): Promise<KeyRelation> {
      if (clientId === claimingClientId) return 'same'
      const { rows } = await pool.query<{ isInvalid: boolean }>(
        `SELECT claiming.deleted_at IS NOT NULL OR coalesce(claiming.expires_at <= now(), false) AS "isInvalid"
         FROM clients JOIN clients claiming USING (user_id) WHERE clients.client_id = $1 AND claiming.client_id = $2`,
        [clientId, claimingClientId],
      )
      const [claimingKey] = rows
      if (!claimingKey) return 'unrelated'
      return claimingKey.isInvalid ? 'replaced' : 'same-user'
    },

    async findCompleted(ids: readonly bigint[]): Promise<Settlement[]> {
      const { rows } = await pool.query<Settlement>(
        `SELECT ${columns} FROM settlements WHERE id = ANY($1) AND NOT ${isOpenSql('settlements')}`,
        [ids],
      )
      return rows
    },

    findById: (id: bigint) => one(`SELECT ${columns} FROM settlements WHERE id = $1`, [id]),

    /**
     * Assigns success to the first requester, and later confirms it only to its Idempotency-Key. Atomic: without a key,
     * exactly one caller gets true.
     */
    async reportSuccess(
      id: bigint,
      { clientId, idempotencyKey }: Pick<Requester, 'clientId' | 'idempotencyKey'>,
    ): Promise<boolean> {
      return (await report({ id, clientId, idempotencyKey })) === true
    },
  }
}

function valuesOf(
  { terms, payload, resource, paymentIdentifier }: PaymentRequest,
  { clientId, requestHash, idempotencyKey }: Requester,
  newClaim: NewClaim,
): unknown[] {
  const { requestId, traceparent, minBlock, seenBlock, unspentAtBlock, until } = newClaim
  const { isOwnRecipient = false, arrived } = newClaim
  return [
    terms.payTo,
    terms.amount.toString(),
    clientId,
    requestHash,
    idempotencyKey,
    JSON.stringify(payload),
    requestId,
    minBlock,
    seenBlock,
    unspentAtBlock,
    until,
    resource,
    paymentIdentifier,
    traceparent ?? null,
    isOwnRecipient,
    arrived?.hash ?? null,
    arrived?.place ?? null,
  ]
}

async function lockFailed(session: Session, paymentKey: string[]): Promise<FailedClaim | undefined> {
  return (await session.query<FailedClaim>(LOCK_FAILED, paymentKey)).rows[0]
}

/** A mined payer's transaction used the nonce, even if a stale node does not show it. */
async function hasMinedPayerTransaction(session: Session, id: bigint): Promise<boolean> {
  return (await session.query(FIND_MINED_PAYER_TRANSACTION, [id])).rowCount === 1
}

type FailedClaim = { id: bigint; wasSent: boolean; errorReason: ReasonCode | null }

/** A failed claim can be reclaimed if nothing was broadcast, if the payment is made, or if the payer's transaction is unused. */
async function allowsReclaim(session: Session, failed: FailedClaim, basis: ClaimBasis): Promise<boolean> {
  if (isMismatched(failed)) return false
  if (!failed.wasSent || basis === 'paid' || basis === 'arrived') return true
  return basis === 'unused' && !(await hasMinedPayerTransaction(session, failed.id))
}
