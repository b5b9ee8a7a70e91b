import { ChainUnavailable, type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type Counts } from '../operations/counts'
import { type Broadcaster } from './broadcasting'
import { createJudge, isGood, isHeld, WAITS_FOR_ITS_PAYER, type Good, type Held } from './judging'
import { isRefusal } from './order'
import { createPostponer } from './postponing'
import { inTransaction } from './session'
import { type Claim, type SettlerStore } from './settler-store'
import { type Tell } from './tell'

/** Claims that are signed in one transaction of the database. */
const MAX_CLAIMS = 100
/** Nodes keep few transactions of one account that are not mined; what waits for them goes together, later. */
const MAX_UNMINED = 16

type Sent = { claims: readonly Claim[]; transaction: SignedTransaction }
type Round = { held: Held[]; sent: Sent[]; isMore: boolean }

/** Makes transactions of one signer out of claims. Only who holds the lock of that signer may call it. */
export function createSender(parts: {
  network: Network
  signer: string
  store: SettlerStore
  send: Broadcaster['send']
  tell: Tell
  counts: Counts
  logger: Logger
  now: () => Date
}) {
  const { network, signer, store, send, tell, counts, logger, now } = parts
  const { chain, name } = network
  const { judge, refuse } = createJudge({ network, now })
  const { postpone, waiting, forget } = createPostponer(now)
  /** Went wrong in a batch, before anything was sent. */
  const alone = new Set<bigint>()
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
        const room = MAX_UNMINED - (await store.unminedCount(session, name, signer))
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
    const judged = await Promise.all(mine.map((one) => judge(one, { wentWrong: alone.has(one.claim.id) })))
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

  async function wait(session: PoolClient, { id }: Claim, problem: unknown): Promise<void> {
    postpone(id)
    const text = problem instanceof Error ? problem.message : String(problem)
    await store.noteProblem(session, [id], text)
    const level = problem instanceof Error ? 'warn' : 'info'
    logger.log(level, 'a claimed payment has to wait; trying again', { settlement: id, problem: text })
  }

  return { sendClaimed }
}

const heldFor = (those: readonly Good[], problem: unknown): Held[] =>
  those.map(({ claim }) => ({ claim, problem }))
