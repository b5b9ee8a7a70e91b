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
import { isRefusal } from './order'
import { createPostponer } from './postponing'
import { inTransaction } from './session'
import { type Claim, type Conclusion, type SettlerStore } from './settler-store'
import { type Tell } from './tell'

/** Claims that are signed in one transaction of the database. */
const MAX_CLAIMS = 100
/** Nodes keep few transactions of one account that are not mined; what waits for them goes together, later. */
const MAX_UNMINED = 16
/** Transactions that one payer may make us pay for in vain within a day, unless an operator wants one more. */
const MAX_IN_VAIN = 3
const WAITS_FOR_ITS_PAYER = 'waits for other payments of its payer'

/** A claim that is good now. `seen` is the newest block when it was judged. */
type Good = Due & { claim: Claim; seen: bigint }
/** A claim that cannot go: it ends, or it has to wait. */
type Held = { claim: Claim } & ({ conclusion: Conclusion } | { problem: unknown })
type Candidate = Awaited<ReturnType<SettlerStore['reserve']>>[number]
type Sent = { claims: readonly Claim[]; transaction: SignedTransaction }
type Round = { held: Held[]; sent: Sent[]; isMore: boolean }

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
  const { postpone, waiting, forget } = createPostponer(now)
  /** Went wrong in a batch, before anything was sent. */
  const alone = new Set<bigint>()
  const underWay = new Map<string, Promise<void>>()
  let claimsAtOnce = MAX_CLAIMS

  /**
   * Signs what is claimed, stores it, and only then sends it: a crash anywhere leaves a claim, or a transaction that can
   * be sent again as it is. Resolves to whether there may be more to do at once.
   */
  async function sendClaimed(session: PoolClient): Promise<boolean> {
    const { held, sent, isMore } = await round(session)
    for (const one of held)
      if ('conclusion' in one) {
        forgetAll([one.claim])
        tell(one.claim, one.conclusion)
      }
    for (const { claims, transaction } of sent) {
      forgetAll(claims)
      for (const { id } of claims)
        logger.info('settlement signed', { settlement: id, transaction: transaction.hash })
      counts.batch({ network: name, payments: claims.length })
      send(transaction)
    }
    return isMore
  }

  /** Where a round fails as a whole the next ones are smaller, until the claim that it fails for is alone and lets others go first. */
  async function round(session: PoolClient): Promise<Round> {
    let locked: Claim[] = []
    try {
      const done = await inTransaction(session, async () => {
        const room = MAX_UNMINED - (await store.unmined(session, name, signer))
        if (room > 0) locked = await store.lockClaimed(session, name, claimsAtOnce, waiting())
        return locked.length === 0 ? { held: [], sent: [], isMore: false } : signRound(session, locked, room)
      })
      claimsAtOnce = Math.min(2 * claimsAtOnce, MAX_CLAIMS)
      return done
    } catch (error) {
      const [first] = locked
      if (!first) throw error
      if (locked.length === 1) await wait(session, first, error)
      else logger.warn('claims could not be signed together; trying fewer', { claims: locked.length, error })
      claimsAtOnce = Math.ceil(locked.length / 2)
      return { held: [], sent: [], isMore: true }
    }
  }

  async function signRound(session: PoolClient, locked: readonly Claim[], room: number): Promise<Round> {
    const mine = await store.reserve(session, name, locked)
    const judged = await Promise.all(mine.map(judge))
    const signed = await sign(session, judged.filter(isGood), room)
    const held = [...judged.filter(isHeld), ...signed.held]
    for (const one of held)
      if ('problem' in one) await wait(session, one.claim, one.problem)
      else await store.conclude(session, one.claim.id, one.conclusion)
    const { sent } = signed
    const left = mine.length - held.length - sent.flatMap(({ claims }) => claims).length
    return { held, sent, isMore: locked.length >= claimsAtOnce || sent.length > 0 || left > 0 }
  }

  function forgetAll(claims: readonly Claim[]) {
    for (const { id } of claims) {
      alone.delete(id)
      forget(id)
    }
  }

  /** A claim may have waited: what was good when it was made must be so still, or gas is spent for nothing. */
  async function judge({ claim, reserved, before, inVain }: Candidate): Promise<Good | Held> {
    const { terms, attempts, isRetried } = claim
    try {
      const payment = network.family.readPayment(claim.payload)
      if (!payment)
        return failed(claim, { reason: 'invalid_payload', detail: 'the stored payload cannot be read' })
      const verify = (spokenFor: bigint) => chain.verify(payment, terms, now(), spokenFor)
      const [{ number: seen }, refusal] = await Promise.all([chain.head(), verify(reserved)])
      const isAlone = attempts > 0 || alone.has(claim.id)
      const good = { claim, payment, terms, isAlone, isBehind: reserved > 0n, seen }
      if (lacksFunds(refusal) && reserved > 0n) return { claim, problem: WAITS_FOR_ITS_PAYER }
      if (refusal) return await refuse(good, refusal)
      if (inVain >= MAX_IN_VAIN && !isRetried && !payment.transaction)
        return await refuse(good, {
          reason: 'invalid_transaction_state',
          detail: `${inVain} transactions for payments of its payer came to nothing within a day`,
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
    if (fate.status === 'settled') return { claim, conclusion: fate }
    if (fate.status === 'pending' || (fate.status === 'open' && claim.wasSent))
      return { claim, problem: refusal.detail }
    return failed(claim, fate.status === 'void' && claim.wasSent ? fate : refusal)
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
      const batches = await chain.batches(ours)
      const going = new Set(batches.flat())
      const behind = ours.filter((one) => !going.has(one))
      const held = await signBatches(session, batches.slice(0, room), sent)
      return { sent: [...own, ...sent], held: [...held, ...heldFor(behind, WAITS_FOR_ITS_PAYER)] }
    } catch (problem) {
      if (!(problem instanceof ChainUnavailable)) throw problem
      return { sent: own, held: heldFor(ours, problem) }
    }
  }

  /** Nonces in a row: where a batch cannot be signed, those after it that could be are left for the next round. */
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
      const attempt = attempts[index]
      if (attempt?.status !== 'fulfilled' || isRefusal(attempt.value)) return unsigned(batches, attempts)
      const transaction = attempt.value
      cost += transaction.cost
      if (cost > funds) {
        logger.error('the signer cannot pay the fees; send it funds', { funds, needed: cost })
        const problem = `${signer} has ${funds} and may need ${cost} for fees, in the smallest native unit`
        return heldFor(batches.slice(index).flat(), problem)
      }
      const claims = batch.map(({ claim }) => claim)
      const nonce = nonces[index] ?? from
      await store.storeSigned(session, { claims, network: name, signer, nonce, transaction })
      sent.push({ claims, transaction })
    }
    return []
  }

  /** What becomes of those that could not be signed. */
  async function unsigned(
    batches: readonly (readonly Good[])[],
    attempts: readonly PromiseSettledResult<Awaited<ReturnType<typeof chain.sign>>>[],
  ): Promise<Held[]> {
    const held = batches.map(async (batch, index) => {
      const attempt = attempts[index]
      if (attempt?.status === 'fulfilled')
        return isRefusal(attempt.value) ? refuseBatch(batch, attempt.value) : []
      const problem: unknown = attempt?.reason
      if (!(problem instanceof ChainUnavailable)) goAlone(batch)
      return heldFor(batch, problem)
    })
    return (await Promise.all(held)).flat()
  }

  async function refuseBatch(batch: readonly Good[], refusal: Refusal): Promise<Held[]> {
    const [only] = batch
    if (only && batch.length === 1)
      return [await refuse(only, refusal).catch((problem: unknown) => ({ claim: only.claim, problem }))]
    goAlone(batch)
    return []
  }

  function goAlone(batch: readonly Good[]) {
    for (const { claim } of batch) alone.add(claim.id)
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
    const { hash } = transaction
    underWay.set(
      hash,
      broadcast(transaction).finally(() => underWay.delete(hash)),
    )
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

  async function wait(session: PoolClient, { id }: Claim, problem: unknown): Promise<void> {
    postpone(id)
    const text = problem instanceof Error ? problem.message : String(problem)
    await store.noteProblem(session, [id], text)
    const level = problem instanceof Error ? 'warn' : 'info'
    logger.log(level, 'a claimed payment has to wait; trying again', { settlement: id, problem: text })
  }

  return {
    sendClaimed,
    send,
    isSending: (hash: string) => underWay.has(hash),
    /** Resolves when nothing is being sent any more. */
    drained: () => Promise.all(underWay.values()),
  }
}

const isGood = (judged: Good | Held): judged is Good => 'payment' in judged
const isHeld = (judged: Good | Held): judged is Held => !isGood(judged)

const lacksFunds = (refusal: Refusal | undefined) => refusal?.reason === 'insufficient_funds'

const heldFor = (those: readonly Good[], problem: unknown): Held[] =>
  those.map(({ claim }) => ({ claim, problem }))

const failed = (claim: Claim, { reason, detail }: Refusal): Held => ({
  claim,
  conclusion: { status: 'failed', reason, detail },
})
