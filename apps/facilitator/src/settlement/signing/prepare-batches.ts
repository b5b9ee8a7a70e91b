import { type Network } from '../../networks/network'
import { withNodeSpans } from '../../networks/with-node-spans'
import { type DeferredClaim } from '../claims/validate-claim'
import { inStep, type SettlementSteps } from '../settlement-steps'
import { type Budget } from './fee-budget'
import {
  decideBatch,
  preparedTransaction,
  type AcceptedBatch,
  type Batch,
  type BatchAction,
  type Preparation,
  type PreparedRound,
} from './signing-decisions'

export type NumberedBatch = { batch: Batch; nonce: bigint }

type Fitted = {
  batch: Batch
  attempt: Preparation
  deferred: DeferredClaim[]
  decision: Exclude<BatchAction, { action: 'prepare-again' }>
}

/** Decides which batches are signed, by their cost, before any signature is requested. */
export function createBatchPreparer({
  network,
  signer,
  steps,
}: {
  network: Network
  signer: string
  steps: SettlementSteps
}) {
  /** Accepts batches in the order of nonces, up to the first one that cannot be prepared or paid for. */
  async function prepareBatches(
    batches: readonly NumberedBatch[],
    { funds, budget }: { funds: bigint; budget: Budget },
  ): Promise<PreparedRound> {
    const preparations = await Promise.all(
      batches.map(async (one) => ({ ...one, attempt: await prepare(one) })),
    )
    const accepted: AcceptedBatch[] = []
    let spent = 0n
    for (const [index, { nonce, ...first }] of preparations.entries()) {
      const { batch, attempt, deferred, decision } = await fit(first, { nonce, budget, funds, spent })
      if (decision.action === 'stop') {
        const unsigned = [{ batch, attempt }, ...preparations.slice(index + 1)]
        return { accepted, stop: { cause: decision.cause, deferred, unsigned } }
      }
      const { transaction } = decision
      accepted.push({ batch, nonce, transaction, deferred })
      spent += transaction.cost
    }
    return { accepted }
  }

  async function prepare({ batch, nonce }: NumberedBatch): Promise<Preparation> {
    const claims = batch.map(({ claim }) => claim)
    const preparing = inStep(steps.start(claims, 'prepare transaction'), (span) =>
      withNodeSpans(network, span).chain.signer.prepare(batch, { signer, nonce }),
    )
    return (await Promise.allSettled([preparing]))[0]
  }

  /** Takes the cost of the batch from the budget; prepares it again without the payments that have no room in their share. */
  async function fit(
    first: { batch: Batch; attempt: Preparation },
    { nonce, budget, funds, spent }: { nonce: bigint; budget: Budget; funds: bigint; spent: bigint },
  ): Promise<Fitted> {
    const deferred: DeferredClaim[] = []
    let { batch, attempt } = first
    for (let preparedAgain = 0; ; preparedAgain++) {
      const transaction = preparedTransaction(attempt)
      const verdict = transaction && budget.take(batch, transaction.cost)
      const decision = decideBatch(batch, { transaction, verdict, preparedAgain, spent, funds, signer })
      if ('deferred' in decision) deferred.push(...(decision.deferred ?? []))
      if (decision.action !== 'prepare-again') return { batch, attempt, deferred, decision }
      batch = decision.rest
      attempt = await prepare({ batch, nonce })
    }
  }

  return { prepareBatches }
}
