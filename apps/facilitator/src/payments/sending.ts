import {
  ChainUnavailable,
  TransactionRejected,
  type Due,
  type Refusal,
  type SignedTransaction,
} from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type Counts } from '../operations/counts'
import { type Ending, type Tell } from './tell'
import { isRefusal } from './order'
import { inTransaction } from './session'
import { type Claim, type Conclusion, type SettlerStore } from './settler-store'

/** Claims that are signed in one transaction of the database. */
const BATCH = 100
/** Nodes keep few transactions of one account that are not mined; what waits for them goes together, later. */
const MAX_UNMINED = 16
/** Transactions that are sent for one payment, unless an operator wants one more. */
const MAX_ATTEMPTS = 3
/** How long a claim that cannot go now lets others go first: twice as long each time. */
const FIRST_POSTPONE_MS = 1_000
const LAST_POSTPONE_MS = 15_000
const WAITS_FOR_ITS_PAYER = 'waits for other payments of its payer'

/** A claim that is good now. `seen` is the newest block when it was judged. */
type Good = Due & { claim: Claim; seen: bigint }
/** A claim that cannot go: it ends, or it has to wait. */
type Held = { claim: Claim } & ({ end: Ending } | { problem: unknown })
type Candidate = Awaited<ReturnType<SettlerStore['reserve']>>[number]
type Sent = { claims: readonly Claim[]; transaction: SignedTransaction }
type Postponed = { until: number; forMs: number }

/** Makes transactions of one signer out of claims. Only who holds the lock of that signer may call it. */
export function createSender(parts: {
  network: Network
  signer: string
  store: SettlerStore
  tell: Tell
  counts: Counts
  logger: Logger
  now: () => Date
}) {
  const { network, signer, store, tell, counts, logger, now } = parts
  const { chain, name } = network
  const postponed = new Map<bigint, Postponed>()
  /** Went wrong in a batch, before anything was sent. */
  const alone = new Set<bigint>()
  const underWay = new Set<Promise<void>>()

  /**
   * Signs what is claimed, stores it, and only then sends it: a crash anywhere leaves a claim, or a transaction that can
   * be sent again as it is. Resolves to whether there may be more to do at once.
   */
  async function sendClaimed(session: PoolClient): Promise<boolean> {
    const { held, sent, isMore } = await inTransaction(session, async () => {
      const room = MAX_UNMINED - (await store.unmined(session, name, signer))
      const locked = room > 0 ? await store.lockClaimed(session, name, BATCH, stillPostponed()) : []
      if (locked.length === 0) return { held: [], sent: [], isMore: false }
      const mine = await store.reserve(session, name, locked)
      const judged = await Promise.all(mine.map(judge))
      const signed = await sign(session, judged.filter(isGood), room)
      const held = [...judged.filter(isHeld), ...signed.held]
      for (const one of held) await hold(session, one)
      const isMore =
        signed.sent.length > 0 || locked.length >= BATCH || mine.some(({ claim }) => alone.has(claim.id))
      return { held, sent: signed.sent, isMore }
    })
    for (const one of held)
      if ('end' in one) {
        forget(one.claim)
        tell(one.claim, one.end)
      }
    for (const { claims, transaction } of sent) {
      for (const claim of claims) {
        forget(claim)
        logger.info('settlement signed', { settlement: claim.id, transaction: transaction.hash })
      }
      counts.batch({ network: name, payments: claims.length })
      send(transaction)
    }
    return isMore
  }

  function forget({ id }: Claim) {
    alone.delete(id)
    postponed.delete(id)
  }

  /** A claim may have waited: what was good when it was made must be so still, or gas is spent for nothing. */
  async function judge({ claim, reserved, before }: Candidate): Promise<Good | Held> {
    const { terms, attempts, isRetried } = claim
    try {
      const payment = network.family.readPayment(claim.payload)
      if (!payment)
        return { claim, end: { reason: 'invalid_payload', detail: 'the stored payload cannot be read' } }
      const verify = (spokenFor: bigint) => chain.verify(payment, terms, now(), spokenFor)
      const [{ number: seen }, refusal] = await Promise.all([chain.head(), verify(reserved)])
      const good = { claim, payment, terms, isAlone: attempts > 0 || alone.has(claim.id), seen }
      if (lacksFunds(refusal) && reserved > 0n) return { claim, problem: WAITS_FOR_ITS_PAYER }
      if (refusal) return await refuse(good, refusal)
      if (attempts >= MAX_ATTEMPTS && !isRetried)
        return await refuse(good, {
          reason: 'invalid_transaction_state',
          detail: `sent ${attempts} times, and came to nothing each time`,
        })
      const isTooMuch = before > 0n && lacksFunds(await verify(reserved + before))
      return isTooMuch ? { claim, problem: WAITS_FOR_ITS_PAYER } : good
    } catch (error) {
      return { claim, problem: error }
    }
  }

  /**
   * What becomes of a claim that cannot be signed: paid where somebody else sent it since, and failed, once its authorization
   * lies open, only where that cannot come any more.
   */
  async function refuse({ claim, payment, terms, seen }: Good, refusal: Refusal): Promise<Held> {
    const fate = await chain.fate(payment, terms, seen)
    if (fate.status === 'settled') return { claim, end: fate }
    if (fate.status === 'pending' || (fate.status === 'open' && claim.wasSent))
      return { claim, problem: refusal.detail }
    return { claim, end: fate.status === 'void' && claim.wasSent ? fate : refusal }
  }

  async function hold(session: PoolClient, held: Held): Promise<void> {
    if ('problem' in held) await postpone(session, held.claim, held.problem)
    else await store.conclude(session, held.claim.id, conclusionOf(held.end))
  }

  async function sign(
    session: PoolClient,
    good: readonly Good[],
    room: number,
  ): Promise<{ sent: Sent[]; held: Held[] }> {
    const own = await storeOwn(session, good)
    const ours = good.filter(({ payment }) => !payment.transaction)
    if (ours.length === 0) return { sent: own, held: [] }
    const sent: Sent[] = []
    try {
      const batches = (await chain.batches(ours)).slice(0, room)
      const held = await signBatches(session, batches, sent)
      return { sent: [...own, ...sent], held }
    } catch (problem) {
      if (!(problem instanceof ChainUnavailable)) throw problem
      return { sent: own, held: ours.map(({ claim }) => ({ claim, problem })) }
    }
  }

  /** Nonces in a row: where a batch cannot be signed, those after it are left for the next time. */
  async function signBatches(
    session: PoolClient,
    batches: readonly (readonly Good[])[],
    sent: Sent[],
  ): Promise<Held[]> {
    const [funds, from] = await Promise.all([chain.funds(signer), chain.nextNonce(signer)])
    const nonces = await store.freeNonces(session, name, signer, { from, count: batches.length })
    const attempts = await Promise.allSettled(
      batches.map((batch, index) => chain.sign(batch, { signer, nonce: nonces[index] ?? from })),
    )
    let cost = 0n
    for (const [index, batch] of batches.entries()) {
      const leftWith = (problem: unknown): Held[] =>
        batches
          .slice(index)
          .flat()
          .map(({ claim }) => ({ claim, problem }))
      const attempt = attempts[index]
      if (attempt?.status !== 'fulfilled') return leftWith(attempt?.reason)
      const transaction = attempt.value
      if (isRefusal(transaction)) return refuseBatch(batch, transaction)
      cost += transaction.cost
      if (cost > funds) {
        logger.error('the signer cannot pay the fees; send it funds', { funds, needed: cost })
        return leftWith(`${signer} has ${funds} and may need ${cost} for fees, in the smallest native unit`)
      }
      const claims = batch.map(({ claim }) => claim)
      const nonce = nonces[index] ?? from
      await store.storeSigned(session, { claims, network: name, signer, nonce, transaction })
      sent.push({ claims, transaction })
    }
    return []
  }

  async function refuseBatch(batch: readonly Good[], refusal: Refusal): Promise<Held[]> {
    const [only] = batch
    if (only && batch.length === 1)
      return [await refuse(only, refusal).catch((problem: unknown) => ({ claim: only.claim, problem }))]
    for (const { claim } of batch) alone.add(claim.id)
    return []
  }

  /** What payers signed whole needs nothing of us but to be sent. */
  async function storeOwn(session: PoolClient, good: readonly Good[]): Promise<Sent[]> {
    const sent: Sent[] = []
    for (const { claim, payment } of good) {
      const { transaction } = payment
      if (!transaction) continue
      await store.storeSigned(session, { claims: [claim], network: name, signer, nonce: null, transaction })
      sent.push({ claims: [claim], transaction })
    }
    return sent
  }

  /** Not waited for: what does not arrive is stored, and sent again by who follows it. */
  function send(transaction: SignedTransaction): void {
    const sending = broadcast(transaction).finally(() => underWay.delete(sending))
    underWay.add(sending)
  }

  async function broadcast(transaction: SignedTransaction): Promise<void> {
    try {
      await chain.broadcast(transaction)
      await store.noteBroadcast(transaction.hash)
    } catch (error) {
      const isRefused = error instanceof TransactionRejected
      if (isRefused) await store.noteRefused(transaction.hash).catch(() => undefined)
      logger.log(isRefused ? 'error' : 'warn', 'a signed transaction could not be sent; trying again', {
        transaction: transaction.hash,
        error,
      })
    }
  }

  async function postpone(session: PoolClient, { id }: Claim, problem: unknown): Promise<void> {
    const before = postponed.get(id)?.forMs
    const forMs = before === undefined ? FIRST_POSTPONE_MS : Math.min(2 * before, LAST_POSTPONE_MS)
    postponed.set(id, { until: now().getTime() + forMs, forMs })
    const text = problem instanceof Error ? problem.message : String(problem)
    await store.noteProblem(session, [id], text)
    const level = problem instanceof Error ? 'warn' : 'info'
    logger.log(level, 'a claimed payment has to wait; trying again', { settlement: id, problem: text })
  }

  function stillPostponed(): bigint[] {
    const time = now().getTime()
    const forgotten = time - 2 * LAST_POSTPONE_MS
    for (const [id, { until }] of postponed) if (until <= forgotten) postponed.delete(id)
    return [...postponed].filter(([, { until }]) => until > time).map(([id]) => id)
  }

  return {
    sendClaimed,
    send,
    /** Resolves when nothing is being sent any more. */
    drained: () => Promise.all(underWay),
  }
}

const isGood = (judged: Good | Held): judged is Good => 'payment' in judged
const isHeld = (judged: Good | Held): judged is Held => !isGood(judged)

const lacksFunds = (refusal: Refusal | undefined) => refusal?.reason === 'insufficient_funds'

const conclusionOf = (end: Ending): Conclusion =>
  isRefusal(end)
    ? { status: 'failed', reason: end.reason }
    : { status: 'settled', hash: end.hash, blockNumber: end.blockNumber }
