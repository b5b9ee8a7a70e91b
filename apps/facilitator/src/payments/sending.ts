import { TransactionRejected, type Payment, type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type Conclude } from './conclude'
import { isRefusal } from './order'
import { inTransaction } from './session'
import { type Claim, type SettlerStore } from './settler-store'

/** Claims that are signed in one transaction of the database. */
const BATCH = 50
/** How long a claim that its chain could not be asked about lets others go first. */
const POSTPONE_MS = 1_000

/** `seen` is the newest block when the payment was judged. */
type Good = { claim: Claim; payment: Payment; seen: bigint }
type Sent = { claim: Claim; transaction: SignedTransaction }

/** Makes transactions of one signer out of claims. Only who holds the lock of that signer may call it. */
export function createSender(parts: {
  network: Network
  signer: string
  store: SettlerStore
  conclude: Conclude
  logger: Logger
  now: () => Date
}) {
  const { network, signer, store, conclude, logger, now } = parts
  const { chain, name } = network
  const postponed = new Map<bigint, number>()

  /**
   * Signs what is claimed, stores it, and only then sends it: a crash anywhere leaves a claim, or a transaction that can
   * be sent again as it is. Resolves to whether there may be more to do at once.
   */
  async function sendClaimed(session: PoolClient): Promise<boolean> {
    const { claims, signed } = await inTransaction(session, async () => {
      const locked = await store.lockClaimed(session, name, BATCH, stillPostponed())
      const judged = await Promise.all(locked.map((claim) => judge(session, claim)))
      const good = judged.filter((one) => one !== undefined)
      return { claims: locked, signed: await sign(session, good) }
    })
    for (const { claim, transaction } of signed)
      logger.info('settlement signed', { settlement: claim.id, transaction: transaction.hash })
    await Promise.all(signed.map(({ transaction }) => send(transaction)))
    return claims.some(({ id }) => !postponed.has(id))
  }

  /** A claim may have waited: what was good when it was made must be so still, or gas is spent for nothing. */
  async function judge(session: PoolClient, claim: Claim): Promise<Good | undefined> {
    try {
      const payment = network.family.readPayment(claim.payload)
      if (!payment) {
        await conclude(session, claim, {
          reason: 'invalid_payload',
          detail: 'the stored payload cannot be read',
        })
        return undefined
      }
      const [{ number: seen }, refusal] = await Promise.all([
        chain.head(),
        chain.verify(payment, claim.terms, now()),
      ])
      if (!refusal) return { claim, payment, seen }
      await refuse(session, { claim, payment, seen }, refusal)
    } catch (error) {
      postpone(claim, error)
    }
    return undefined
  }

  /** Ends a claim that cannot be signed, as paid where somebody else sent it since. */
  async function refuse(
    session: PoolClient,
    { claim, payment, seen }: Good,
    refusal: Refusal,
  ): Promise<void> {
    const elsewhere = await chain.findSettled(payment, claim.terms, seen)
    if (elsewhere?.status === 'pending') postpone(claim)
    else await conclude(session, claim, elsewhere ?? refusal)
  }

  /** Signs with nonces in a row. Where one cannot be signed those after it are left for the next time: no nonce is skipped. */
  async function sign(session: PoolClient, good: readonly Good[]): Promise<Sent[]> {
    if (good.length === 0) return []
    const first = await nextNonce(session)
    const attempts = await Promise.allSettled(
      good.map(({ claim, payment }, index) =>
        chain.sign(payment, claim.terms, { signer, nonce: first + BigInt(index) }),
      ),
    )
    const signed: Sent[] = []
    for (const [index, one] of good.entries()) {
      const { claim } = one
      const attempt = attempts[index]
      if (attempt?.status !== 'fulfilled') {
        for (const left of good.slice(index)) postpone(left.claim, attempt?.reason)
        break
      }
      const transaction = attempt.value
      if (isRefusal(transaction)) {
        await refuse(session, one, transaction).catch((error: unknown) => postpone(claim, error))
        break
      }
      const nonce = first + BigInt(index)
      await store.storeSigned(session, { claim, network: name, signer, nonce, transaction })
      signed.push({ claim, transaction })
    }
    return signed
  }

  /**
   * The nonce after all that the chain has seen and all that we ever signed. Where the chain lacks what we signed, be it
   * that it never arrived or that a reorg dropped it, that is sent again, or nothing after it would ever be mined.
   */
  async function nextNonce(session: PoolClient): Promise<bigint> {
    const onChain = await chain.nextNonce(signer)
    const stored = await store.nextNonce(session, name, signer)
    if (onChain >= stored) return onChain
    for (const transaction of await store.from(session, name, signer, onChain)) await send(transaction)
    return stored
  }

  /** What does not arrive is stored, and sent again by who follows it. */
  async function send(transaction: SignedTransaction): Promise<void> {
    try {
      await chain.broadcast(transaction)
      await store.noteBroadcast(transaction.hash)
    } catch (error) {
      const level = error instanceof TransactionRejected ? 'error' : 'warn'
      logger.log(level, 'a signed transaction could not be sent; trying again', {
        transaction: transaction.hash,
        error,
      })
    }
  }

  function postpone({ id }: Claim, error?: unknown) {
    postponed.set(id, now().getTime() + POSTPONE_MS)
    if (error !== undefined)
      logger.warn('a claimed payment has to wait; trying again', { settlement: id, error })
  }

  function stillPostponed(): bigint[] {
    for (const [id, until] of postponed) if (until <= now().getTime()) postponed.delete(id)
    return [...postponed.keys()]
  }

  return { sendClaimed }
}
