import { TransactionRejected, type Payment, type Refusal, type SignedTransaction } from '@tollgate/chains'
import { type PoolClient } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { isRefusal } from './order'
import { type Claim, type Conclusion, type SettlerStore } from './settler-store'

/** Claims that are signed in one transaction of the database. */
const BATCH = 50
/** How long a claim that its chain could not be asked about lets others go first. */
const POSTPONE_MS = 1_000

type Good = { claim: Claim; payment: Payment }
type Sent = { claim: Claim; transaction: SignedTransaction }

export type Sender = ReturnType<typeof createSender>

/** Makes transactions of one signer out of claims. Only who holds the lock of that signer may call it. */
export function createSender(parts: {
  network: Network
  signer: string
  store: SettlerStore
  logger: Logger
  now: () => Date
}) {
  const { network, signer, store, logger, now } = parts
  const { chain, name } = network
  const postponed = new Map<bigint, number>()

  /**
   * Signs what is claimed, stores it, and only then sends it: a crash anywhere leaves a claim, or a transaction that can
   * be sent again as it is. Resolves to how many were sent.
   */
  async function sendClaimed(session: PoolClient): Promise<number> {
    const signed = await inTransaction(session, async () => {
      const claims = await store.lockClaimed(session, name, BATCH, stillPostponed())
      const judged = await Promise.all(claims.map((claim) => judge(session, claim)))
      return sign(session, judged.filter((good) => good !== undefined))
    })
    await Promise.all(signed.map(send))
    return signed.length
  }

  /** A claim may have waited: what was good when it was made must be so still, or gas is spent for nothing. */
  async function judge(session: PoolClient, claim: Claim): Promise<Good | undefined> {
    const payment = network.family.readPayment(claim.payload)
    if (!payment) return conclude(session, claim, { reason: 'invalid_payload', detail: 'the payload is unreadable' })
    try {
      const refusal = await chain.verify(payment, claim.terms, now())
      if (!refusal) return { claim, payment }
      const elsewhere = await chain.findSettled(payment, claim.terms)
      if (elsewhere?.status === 'pending') return postpone(claim)
      return conclude(session, claim, elsewhere ?? refusal)
    } catch (error) {
      return postpone(claim, error)
    }
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
    for (const [index, { claim }] of good.entries()) {
      const attempt = attempts[index]
      if (attempt?.status !== 'fulfilled') {
        postpone(claim, attempt?.reason)
        break
      }
      if (isRefusal(attempt.value)) {
        await conclude(session, claim, attempt.value)
        break
      }
      const transaction = attempt.value
      await store.storeSigned(session, { claim, network: name, signer, nonce: first + BigInt(index), transaction })
      signed.push({ claim, transaction })
    }
    return signed
  }

  async function nextNonce(session: PoolClient): Promise<bigint> {
    const [onChain, stored] = await Promise.all([chain.nextNonce(signer), store.nextNonce(session, name, signer)])
    return onChain > stored ? onChain : stored
  }

  /** What is not sent here is stored, and sent again by who follows it. */
  async function send({ claim, transaction }: Sent): Promise<void> {
    const facts = { settlement: claim.id, transaction: transaction.hash }
    logger.info('settlement signed', facts)
    try {
      await chain.broadcast(transaction)
      await store.noteBroadcast(transaction.hash)
    } catch (error) {
      const isRejected = error instanceof TransactionRejected
      logger.log(isRejected ? 'error' : 'warn', 'a signed settlement could not be sent; trying again', { ...facts, error })
    }
  }
}
