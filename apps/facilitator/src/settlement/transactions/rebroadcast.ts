import { TransactionRejected, type PaymentStatus } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { withNodeSpans } from '../../networks/with-node-spans'
import { paymentOf } from '../claims/payment-of'
import { type Broadcaster } from '../signing/broadcaster'
import { type SigningStore } from '../signing/signing-store'
import { inStep, type SettlementSteps } from '../settlement-steps'
import { type TransactionCompleter } from './complete-transaction'
import { decideSuperseded, resolveUnsendable, type SupersedeCause } from './resolve-transaction'
import { type OpenTransaction } from './transaction-store'

/** Broadcasts transactions that the node does not know, unchanged, and supersedes those that no block can include. */
export function createRebroadcaster({
  network,
  signing,
  isSending,
  complete,
  steps,
  logger,
}: {
  network: Network
  signing: SigningStore
  isSending: Broadcaster['isSending']
  complete: TransactionCompleter['complete']
  steps: SettlementSteps
  logger: Logger
}) {
  const { chain, family } = network

  /** Resolves to whether the transaction is closed. */
  async function rebroadcast(open: OpenTransaction): Promise<boolean> {
    const { hash } = open.transaction
    if (isSending(hash)) return false
    // From the database: `open` may have been read before our own broadcast was rejected.
    const isFirstSubmission = await signing.markSubmitted(hash)
    const problem = await broadcast(open)
    const rejection = problem instanceof TransactionRejected ? problem : undefined
    if (rejection && isFirstSubmission) await signing.markRejected(hash)
    // One node keeps a transaction that no block can include, another never answers a broadcast.
    const isClosed = rejection || open.isOld ? await closeUnsendable(open, rejection) : undefined
    if (isClosed === undefined && problem !== undefined) throw problem
    return isClosed ?? false
  }

  async function broadcast({ transaction, settlements }: OpenTransaction): Promise<Error | undefined> {
    const attributes = { 'tollgate.transaction': transaction.hash }
    const step = steps.start(settlements, 'rebroadcast transaction', { attributes })
    try {
      await inStep(step, (span) => withNodeSpans(network, span).chain.node.broadcast(transaction))
    } catch (error) {
      return error instanceof Error ? error : new Error(String(error))
    }
    await signing.markAccepted(transaction.hash)
    return undefined
  }

  /** Undefined while a block can still include the transaction. */
  async function closeUnsendable(
    open: OpenTransaction,
    rejection: TransactionRejected | undefined,
  ): Promise<boolean | undefined> {
    const { nonce, signer, isOld, wasSubmitted, hashes, settlements } = open
    const isPayerSigned = nonce === null
    const isNonceSpent = nonce !== null && (await chain.signer.isNonceSpent(signer, nonce))
    // The answering node must be at least as far as the one that reported the nonce.
    const statuses = await statusesOf(open, isNonceSpent ? (await chain.node.head()).number : 0n)
    const isCountersigned =
      settlements.length > 0 && settlements.every((claim) => paymentOf(family, claim).countersigned)
    const state = {
      isPayerSigned,
      isCountersigned,
      isNonceSpent,
      isOld,
      wasSubmitted,
      hashes,
      statuses,
      rejection,
    }
    let step = resolveUnsendable(state)
    // Asked after the rejection: a lagging node reports a missing grant too, and signing it again gives the same bytes.
    if (step.action === 'check-grant')
      step = resolveUnsendable({ ...state, isGrantMissing: await isGrantMissing(open) })
    if (step.action === 'supersede') return supersede(open, { cause: step.cause, statuses, rejection })
    return step.action === 'wait' ? false : undefined
  }

  function supersede(
    open: OpenTransaction,
    {
      cause,
      statuses,
      rejection,
    }: {
      cause: SupersedeCause
      statuses: readonly PaymentStatus[]
      rejection: TransactionRejected | undefined
    },
  ): Promise<boolean> {
    const { hashes, settlements } = open
    logger.warn('transaction superseded', {
      cause,
      transaction: open.transaction.hash,
      settlementIds: settlements.map(({ id }) => id),
      rejection: rejection?.message,
    })
    const decisions = settlements.flatMap((claim, index) => {
      const status = statuses[index]
      return status ? [decideSuperseded(claim, status, { cause, hashes, rejection })] : []
    })
    return complete(open, { status: 'superseded' }, decisions)
  }

  async function isGrantMissing({ settlements: [claim] }: OpenTransaction): Promise<boolean> {
    if (!claim || !chain.payments.sponsorship) return false
    return !(await chain.payments.sponsorship(paymentOf(family, claim), claim.minBlock)).isReady
  }

  const statusesOf = ({ settlements }: OpenTransaction, minBlock: bigint): Promise<PaymentStatus[]> =>
    Promise.all(
      settlements.map((claim) =>
        chain.payments.paymentStatus({
          payment: paymentOf(family, claim),
          terms: claim.terms,
          minBlock: minBlock > claim.minBlock ? minBlock : claim.minBlock,
        }),
      ),
    )

  return rebroadcast
}
