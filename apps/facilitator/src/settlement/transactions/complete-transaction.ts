import { type Chain, type PaymentStatus } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { paymentOf } from '../claims/payment-of'
import { type Claim } from '../claims/claim'
import { idsOf } from '../log-fields'
import { inStep, type SettlementSteps } from '../settlement-steps'
import { type ReportOutcome } from '../report-outcome'
import { decideAfterMined, outcomeInBlock, type Decision, type MinedVersion } from './resolve-transaction'
import { type Resolution, type Transition } from './store-resolution'
import { type OpenTransaction, type TransactionStore } from './transaction-store'

export type TransactionCompleter = ReturnType<typeof createTransactionCompleter>

export function createTransactionCompleter({
  network,
  transactions,
  reportOutcome,
  steps,
  logger,
}: {
  network: Network
  transactions: TransactionStore
  reportOutcome: ReportOutcome
  steps: SettlementSteps
  logger: Logger
}) {
  const { family } = network

  /** False while a settlement is undecided: the transaction stays open. */
  async function completeMined(open: OpenTransaction, mined: MinedVersion, chain: Chain): Promise<boolean> {
    const isPayerSigned = open.nonce === null
    const decisions = await Promise.all(
      open.settlements.map(async (claim): Promise<Decision> => {
        const outcome = outcomeInBlock(claim, paymentOf(family, claim), mined, { isPayerSigned })
        if (outcome) return { action: 'complete', outcome }
        const status = await statusAfter(open, claim, { chain, block: mined.block.number })
        return decideAfterMined(claim, status, { hashes: open.hashes, isPayerSigned })
      }),
    )
    const faultyAsset = await findFaultyAsset(open, { chain, hash: mined.hash }, decisions)
    const { hash, block, fee } = mined
    const isComplete = await complete(open, { status: 'mined', hash, block, fee }, decisions)
    if (isComplete && faultyAsset !== undefined) await reportAssetFault(open, hash, faultyAsset)
    return isComplete
  }

  /** The status of a payer's own transaction must be known, because its fee is charged once. */
  async function statusAfter(
    { nonce }: OpenTransaction,
    claim: Claim,
    { chain, block }: { chain: Chain; block: bigint },
  ): Promise<PaymentStatus | 'unknown'> {
    try {
      return await chain.payments.paymentStatus({
        payment: paymentOf(family, claim),
        terms: claim.terms,
        minBlock: block,
      })
    } catch (error) {
      if (nonce === null) throw error
      logger.warn('payment status unavailable, settlement requeued', { ...idsOf(claim), error })
      return 'unknown'
    }
  }

  /** Only a payment that was alone in its transaction can prove that the asset is at fault; see ADR 26. */
  async function findFaultyAsset(
    { nonce, settlements }: OpenTransaction,
    { chain, hash }: { chain: Chain; hash: string },
    [decision]: readonly Decision[],
  ): Promise<string | undefined> {
    const [claim, ...others] = settlements
    if (nonce === null || !claim || others.length > 0 || decision?.action !== 'retry') return undefined
    const isFaulty = await chain.payments
      .failsOnlyWhenMined?.(hash, paymentOf(family, claim), claim.terms)
      .catch((error: unknown) => {
        logger.warn('asset fault check failed', { transaction: hash, error })
        return false
      })
    return isFaulty ? claim.terms.token.asset : undefined
  }

  async function reportAssetFault({ id }: OpenTransaction, hash: string, asset: string): Promise<void> {
    const isSuspended = await transactions.noteAssetFault(id, { network: network.name, asset })
    const facts = { asset, transaction: hash }
    logger.warn('transaction wasted by asset', facts)
    if (isSuspended) logger.error('asset suspended, transactions wasted', facts)
  }

  async function complete(
    open: OpenTransaction,
    resolution: Resolution,
    decisions: readonly Decision[],
  ): Promise<boolean> {
    if (decisions.some(({ action }) => action === 'wait')) return false
    const decided = open.settlements.map((claim, index) => {
      const decision = decisions[index]
      if (!decision) throw new Error(`settlement ${claim.id} has no decision`)
      return { claim, decision }
    })
    const transitions = decided.map(({ claim, decision }) => transitionOf(claim, decision))
    const attributes = { 'tollgate.outcome': resolution.status }
    const isStored = await inStep(steps.start(open.settlements, 'complete settlement', { attributes }), () =>
      transactions.resolveTransaction(open, resolution, transitions),
    )
    // Another replica stored it.
    if (!isStored) return true
    for (const { claim, decision } of decided) {
      if (decision.action === 'complete') reportOutcome(claim, decision.outcome)
      else if (claim.hasTransaction) logger.warn('settlement requeued', idsOf(claim))
      // No hash is stored before the fee grant of a payer's own transaction is closed.
      else
        logger.info(resolution.status === 'mined' ? 'fee grant mined' : 'fee grant superseded', idsOf(claim))
    }
    return true
  }

  return { completeMined, complete }
}

const transitionOf = ({ id }: Claim, decision: Decision): Transition =>
  decision.action === 'complete' ? { id, ...decision.outcome } : { id, status: 'claimed' }
