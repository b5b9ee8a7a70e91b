import { TransactionRejected, type BlockId, type Fate, type Inspection, type Payment } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { levelOf, type Broadcaster } from './broadcasting'
import { endOf, mismatched, wasThere } from './ending'
import { idsOf } from './log-fields'
import { type Tell } from './tell'
import { type Claim, type Conclusion, type SettlerStore } from './settler-store'
import { type SigningStore } from './signing-store'
import { type Clearance, type Lane, type OpenTransaction, type TransactionStore } from './transaction-store'

/** Transactions looked at together; where there are more, the next ones the next time. */
const AT_ONCE = 100
/** How long a problem that stays the same is not told again. */
const SILENCE_MS = 60_000

type Mined = Extract<Inspection, { status: 'mined' }>
/** How the settlement of `claim` ends; undefined where it is to be sent again. */
type Result = { claim: Claim; conclusion: Conclusion | undefined }

/** Sees signed transactions through until they are mined, whoever signed them and however often this process was killed. */
export function createFollower(parts: {
  network: Network
  lane: Lane
  pool: Pool
  store: SettlerStore
  signing: SigningStore
  transactions: TransactionStore
  /** Whether this process is sending the transaction just now. */
  isSending: Broadcaster['isSending']
  tell: Tell
  logger: Logger
}) {
  const { network, lane, pool, store, signing, transactions, isSending, tell, logger } = parts
  const { chain } = network
  let after = 0n
  const noted = new Map<bigint, { problem: string; at: number }>()

  /** Looks once at what is signed and not over. Resolves to how many transactions are still open, and how many are not any more. */
  async function followSigned(): Promise<{ open: number; ended: number }> {
    const signed = await transactions.unmined(lane, { after, limit: AT_ONCE })
    after = signed.length < AT_ONCE ? 0n : (signed.at(-1)?.id ?? 0n)
    if (signed.length === 0) return { open: 0, ended: 0 }
    const { timestamp } = await chain.head()
    const ends = await Promise.all(signed.map((one) => follow(one, BigInt(timestamp))))
    const ended = ends.filter((isOver) => isOver).length
    return { open: signed.length - ended, ended }
  }

  async function follow(open: OpenTransaction, time: bigint): Promise<boolean> {
    try {
      const inspections = await Promise.all(open.hashes.map((hash) => chain.inspect(hash)))
      const index = inspections.findIndex(({ status }) => status === 'mined')
      const mined = inspections[index]
      const hash = open.hashes[index]
      if (mined?.status === 'mined' && hash !== undefined)
        return mined.isConfirmed && (await isDone(open)) && (await clear(open, { ...mined, hash }))
      await endLapsed(open, time)
      return inspections[0]?.status === 'unknown' && (await sendAgain(open))
    } catch (error) {
      await note(open, error)
      return false
    }
  }

  /** A receipt alone is a node's word: the account's nonce must have moved as well. */
  const isDone = async ({ signer, nonce }: OpenTransaction) =>
    nonce === null || (await chain.isNonceSpent(signer, nonce))

  /**
   * Writes down what a mined transaction settled. False where what its payer signed whole lacks
   * confirmations. What nobody can tell at
   * present goes back to be judged anew: its payer may have seen to that, and it must hold up neither others nor our nonces.
   */
  async function clear(open: OpenTransaction, mined: Mined & { hash: string }): Promise<boolean> {
    const { hash, block, fee } = mined
    const results = await Promise.all(
      open.settlements.map(async (claim): Promise<Result | undefined> => {
        const payment = paymentOf(claim)
        const transfer = { hash, blockNumber: block.number }
        // A payer's own may have been mined before it was brought to us.
        const isOlder = open.nonce === null && wasThere(claim, block.number)
        if (mined.settles(payment, claim.terms) && !isOlder)
          return { claim, conclusion: { status: 'settled', ...transfer } }
        if (mined.differs(payment, claim.terms) && !isOlder)
          return { claim, conclusion: mismatched(transfer) }
        const fate = await fateAfter(open, claim, block)
        return fate === 'unknown' ? sentAgain(claim) : resultOf(claim, fate, open)
      }),
    )
    const faulty = await assetAtFault(open, hash, results)
    const isWritten = await write(open, { status: 'mined', hash, block, fee }, results)
    if (isWritten && faulty !== undefined) await noteAssetFault(open, hash, faulty)
    return isWritten
  }

  /** The asset that failed a transaction which it lets succeed in simulations, by no doing of the payer. */
  async function assetAtFault(
    { nonce, settlements }: OpenTransaction,
    hash: string,
    results: readonly (Result | undefined)[],
  ): Promise<string | undefined> {
    const [claim, ...others] = settlements
    const [result] = results
    if (nonce === null || !claim || others.length > 0 || !result || result.conclusion) return undefined
    const isFaulty = await chain
      .failsOnlyWhenMined?.(hash, paymentOf(claim), claim.terms)
      .catch((error: unknown) => {
        logger.warn('why a transaction failed cannot be told', { transaction: hash, error })
        return false
      })
    return isFaulty ? claim.terms.token.asset : undefined
  }

  async function noteAssetFault({ id }: OpenTransaction, hash: string, asset: string): Promise<void> {
    const isSuspended = await transactions.noteAssetFault(id, { network: network.name, asset })
    const facts = { asset, transaction: hash }
    logger.warn('asset failed a transaction that succeeds in simulation', facts)
    if (isSuspended) logger.error('asset suspended: it wastes transactions', facts)
  }

  /**
   * What the node does not know, be it lost or dropped, is sent as it was. Where it is refused, or has been unknown for long,
   * it is asked whether any block can have it still.
   */
  async function sendAgain(open: OpenTransaction): Promise<boolean> {
    const { hash } = open.transaction
    if (isSending(hash)) return false
    // Asked of the database: what was read of it may be from before our own attempt was refused.
    const isFirstOffer = await signing.noteOffered(hash)
    const problem = await offer(open)
    const refusal = problem instanceof TransactionRejected ? problem : undefined
    if (refusal && isFirstOffer) await signing.noteRefused(hash)
    // One node keeps bytes that nothing can come of, another never answers when it is sent some.
    const ended = refusal || open.isOld ? await endUnsendable(open, refusal) : undefined
    if (ended === undefined && problem !== undefined) throw problem
    return ended ?? false
  }

  /** Why the transaction was not taken; undefined where it was. */
  async function offer({ transaction }: OpenTransaction): Promise<Error | undefined> {
    try {
      await chain.broadcast(transaction)
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
    await signing.noteBroadcast(transaction.hash)
    return undefined
  }

  /** Ends a transaction that no block will have, and tells its payments by their own fates. Undefined where one still may. */
  async function endUnsendable(
    open: OpenTransaction,
    refusal: TransactionRejected | undefined,
  ): Promise<boolean | undefined> {
    const isOurs = open.nonce !== null
    const isSpent = isOurs && (await isDone(open))
    // Of a node that is as far as the one that says so.
    const fates = await fatesOf(open, isSpent ? (await chain.head()).number : undefined)
    const { hash } = open.transaction
    const end = (
      told: string,
      resultFor = (claim: Claim, fate: Fate): Result | undefined => resultOf(claim, fate, open),
    ) => {
      logger.warn(told, {
        transaction: hash,
        settlementIds: open.settlements.map(({ id }) => id),
        refusal: refusal?.message,
      })
      const results = open.settlements.map((claim, index) => fates[index] && resultFor(claim, fates[index]))
      return write(open, { status: 'lost' }, results)
    }
    // Mined after all: this node does not know it yet.
    if (fates.some((fate) => fate.status === 'settled' && open.hashes.includes(fate.hash))) return false
    if (isSpent) return end('the nonce of a transaction went to another')
    if (!isOurs && fates.every(isDecided))
      return end('nothing can come of a payer’s own transaction any more')
    // A node that is a moment behind refuses what it takes then; what the transaction itself is refused for stays.
    if (isOurs || !refusal || !(open.isOld || refusal.verdict)) return undefined
    // Asked only now: a node that is a moment behind says so too. Made anew, the very same bytes are sent again.
    if (await lacksWhatComesFirst(open))
      return end('what had to come before a transaction is gone; it is made anew')
    if (open.wasOffered) return undefined
    return end('no node ever took a payer’s own transaction', (claim, fate) =>
      fate.status === 'open' ? neverTaken(claim, refusal) : resultOf(claim, fate, open),
    )
  }

  /** Of a payment that its mined transaction did not settle. Of what its payer signed whole it must be known: that is charged once. */
  async function fateAfter(open: OpenTransaction, claim: Claim, block: BlockId): Promise<Fate | 'unknown'> {
    try {
      const fate = await chain.fate(paymentOf(claim), claim.terms, block.number)
      return fate.status === 'pending' && open.nonce !== null ? 'unknown' : fate
    } catch (error) {
      if (open.nonce === null) throw error
      logger.warn('what became of a payment cannot be told; it is looked at again by itself', {
        ...idsOf(claim),
        error,
      })
      return 'unknown'
    }
  }

  /** Of a payer's own transaction: whether one of ours has to be mined before it, be it once more. */
  async function lacksWhatComesFirst({ nonce, settlements: [claim] }: OpenTransaction): Promise<boolean> {
    if (nonce !== null || claim === undefined || chain.sponsorship === undefined) return false
    return !(await chain.sponsorship(paymentOf(claim), claim.since)).isReady
  }

  const fatesOf = ({ settlements }: OpenTransaction, seen = 0n): Promise<Fate[]> =>
    Promise.all(
      settlements.map((claim) =>
        chain.fate(paymentOf(claim), claim.terms, seen > claim.since ? seen : claim.since),
      ),
    )

  async function write(
    open: OpenTransaction,
    clearance: Clearance,
    results: readonly (Result | undefined)[],
  ): Promise<boolean> {
    const known = results.filter((result) => result !== undefined)
    if (known.length < results.length) return false
    const isWritten = await transactions.clear(
      open,
      clearance,
      known.map(({ claim: { id }, conclusion }) => ({ id, ...(conclusion ?? { status: 'claimed' }) })),
    )
    noted.delete(open.id)
    if (!isWritten) return true
    for (const { claim, conclusion } of known)
      if (conclusion) tell(claim, conclusion)
      else if (claim.wasSent)
        logger.warn('a payment was not settled by its transaction; sending it again', {
          ...idsOf(claim),
        })
      else logger.info('what had to come before a payment is over; sending it', idsOf(claim))
    return true
  }

  /** Payments that have lapsed while their transaction waits end before it does: nobody can settle them any more. */
  async function endLapsed(open: OpenTransaction, time: bigint): Promise<void> {
    const lapsed = open.settlements.filter((claim) => {
      const { validUntil } = paymentOf(claim)
      return validUntil !== undefined && time >= validUntil
    })
    for (const claim of lapsed) {
      // What nobody can tell now must not keep the transaction from being sent again.
      const fate = await chain.fate(paymentOf(claim), claim.terms).catch(() => undefined)
      // One of our transactions used it: `clear` ends it by what that one moved.
      if (fate?.status !== 'void' || fate.usedIn) continue
      const { reason, detail } = fate
      if (await transactions.fail(open, claim.id, { reason, detail }))
        tell(claim, { status: 'failed', reason, detail })
    }
  }

  function paymentOf({ payload }: Claim): Payment {
    const payment = network.family.readPayment(payload)
    if (!payment) throw new Error('the stored payload cannot be read')
    return payment
  }

  async function note(
    { id, transaction, settlements, isOld }: OpenTransaction,
    error: unknown,
  ): Promise<void> {
    const problem = error instanceof Error ? error.message : String(error)
    const before = noted.get(id)
    if (before?.problem === problem && performance.now() - before.at < SILENCE_MS) return
    noted.set(id, { problem, at: performance.now() })
    const ids = settlements.map((claim) => claim.id)
    const level = levelOf(error, { isOld })
    logger.log(level, 'a signed transaction could not be followed; trying again', {
      settlementIds: ids,
      transaction: transaction.hash,
      error,
    })
    await store.noteProblem(pool, ids, problem).catch(() => undefined)
  }

  return { followSigned }
}

/** What a payment's fate makes of its settlement; undefined while that is not known. */
function resultOf(claim: Claim, fate: Fate, { hashes }: OpenTransaction): Result | undefined {
  switch (fate.status) {
    case 'pending':
      return undefined
    case 'settled':
    case 'void':
      return { claim, conclusion: endOf(claim, fate, hashes) }
    case 'open':
      return sentAgain(claim)
  }
}

const isDecided = ({ status }: Fate): boolean => status === 'void' || status === 'settled'

/** Once it is good: what is claimed is judged anew first. */
const sentAgain = (claim: Claim): Result => ({ claim, conclusion: undefined })

const neverTaken = (claim: Claim, { verdict, message }: TransactionRejected): Result => ({
  claim,
  conclusion: {
    status: 'failed',
    reason: 'invalid_transaction_state',
    detail: message,
    ...verdict,
    isUnsent: true,
  },
})
