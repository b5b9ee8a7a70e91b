import { type Chain } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { withNodeSpans } from '../../networks/with-node-spans'
import { paymentOf } from '../claims/payment-of'
import { type Head } from '../block-schedule'
import { type ClaimStore } from '../claims/claim-store'
import { type ReportOutcome } from '../report-outcome'
import { type Broadcaster } from '../signing/broadcaster'
import { type SigningStore } from '../signing/signing-store'
import { inStep, type SettlementSteps } from '../settlement-steps'
import { createTransactionCompleter } from './complete-transaction'
import { createProblemReporter } from './problem-reporter'
import { createRebroadcaster } from './rebroadcast'
import { expiredOutcome, hasExpired, nextStep, type MinedVersion } from './resolve-transaction'
import { type OpenTransaction, type SignerScope, type TransactionStore } from './transaction-store'

const MAX_TRANSACTIONS = 100

/** Tracks stored transactions until they are mined or superseded, including those that an earlier process signed. */
export function createTransactionTracker(parts: {
  network: Network
  scope: SignerScope
  pool: Pool
  claimStore: ClaimStore
  signing: SigningStore
  transactions: TransactionStore
  isSending: Broadcaster['isSending']
  reportOutcome: ReportOutcome
  steps: SettlementSteps
  logger: Logger
}) {
  const { network, scope, pool, claimStore, signing, transactions, isSending, reportOutcome, steps, logger } =
    parts
  const { chain, family } = network
  const problems = createProblemReporter({ pool, claimStore, logger })
  const { complete, completeMined } = createTransactionCompleter({
    network,
    transactions,
    reportOutcome,
    steps,
    logger,
  })
  const rebroadcast = createRebroadcaster({ network, signing, isSending, complete, steps, logger })
  let after = 0n

  /** One pass over the open transactions, or the next {@link MAX_TRANSACTIONS} of them. */
  async function trackSigned(): Promise<{ open: number; closed: number; head?: Head }> {
    const signed = await transactions.unmined(scope, { after, limit: MAX_TRANSACTIONS })
    after = signed.length < MAX_TRANSACTIONS ? 0n : (signed.at(-1)?.id ?? 0n)
    if (signed.length === 0) return { open: 0, closed: 0 }
    const head = await chain.node.head()
    const results = await Promise.all(signed.map((open) => track(open, BigInt(head.timestamp))))
    const closed = results.filter((isClosed) => isClosed).length
    return { open: signed.length - closed, closed, head }
  }

  async function track(open: OpenTransaction, time: bigint): Promise<boolean> {
    try {
      const isClosed = await advance(open, time)
      if (isClosed) problems.forget(open.id)
      return isClosed
    } catch (error) {
      await problems.report(open, error)
      return false
    }
  }

  async function advance(open: OpenTransaction, time: bigint): Promise<boolean> {
    const statuses = await Promise.all(open.hashes.map((hash) => chain.node.transactionStatus(hash)))
    const step = nextStep(open.hashes, statuses)
    switch (step.action) {
      case 'await-confirmations':
        return false
      case 'resolve':
        return resolve(open, step.mined)
      case 'await-block':
        await failExpired(open, time)
        return false
      case 'rebroadcast':
        await failExpired(open, time)
        return rebroadcast(open)
    }
  }

  /** One span for the whole time since the signature: earlier passes, also of other processes, have none. */
  function resolve(open: OpenTransaction, mined: MinedVersion): Promise<boolean> {
    const attributes = { 'tollgate.transaction': mined.hash, 'tollgate.block': Number(mined.block.number) }
    const step = steps.start(open.settlements, 'mine transaction', { startedAt: open.signedAt, attributes })
    return inStep(step, async (span) => {
      const { chain: observed } = withNodeSpans(network, span)
      return (await isNonceSpent(open, observed)) && completeMined(open, mined, observed)
    })
  }

  /** A receipt comes from one node: the signer's nonce must be used too. */
  const isNonceSpent = async ({ signer, nonce }: OpenTransaction, { signer: signers }: Chain) =>
    nonce === null || (await signers.isNonceSpent(signer, nonce))

  async function failExpired(open: OpenTransaction, time: bigint): Promise<void> {
    for (const claim of open.settlements) {
      const payment = paymentOf(family, claim)
      if (!hasExpired(payment, time)) continue
      // A failed query must not keep the transaction from being broadcast.
      const status = await chain.payments
        .paymentStatus({ payment, terms: claim.terms })
        .catch(() => 'unknown' as const)
      const outcome = expiredOutcome(status)
      if (outcome && (await transactions.fail(open, claim.id, outcome))) reportOutcome(claim, outcome)
    }
  }

  return { trackSigned }
}
