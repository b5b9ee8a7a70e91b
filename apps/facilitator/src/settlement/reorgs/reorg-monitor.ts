import { type BlockId } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type SettlementMetrics } from '../metrics'
import { idsOf } from '../log-fields'
import { type ExternalSettlement, type ReorgStore } from './reorg-store'
import { type SignerScope } from '../transactions/transaction-store'

/**
 * Watches what is settled until no reorg can undo it. What a reorg drops is reversed, and followed again as if it had never
 * been mined: it is sent again, and may settle once more.
 */
export function createReorgMonitor(parts: {
  network: Network
  scope: SignerScope
  store: ReorgStore
  counts: SettlementMetrics
  logger: Logger
}) {
  const { network, scope, store, counts, logger } = parts
  const { chain, name } = network

  /**
   * Looks once at every block that holds a transaction of ours, and at what others settled for us, where it is not too deep
   * for a reorg. Resolves to whether something was dropped.
   */
  async function checkMined(): Promise<boolean> {
    const blocks = await store.watched(scope)
    const { number: height } = await chain.head()
    const final = height - chain.reorgDepth
    const isDropped = await Promise.all([
      ...blocks.map(lookAtBlock),
      ...(await store.settledElsewhere(name, final)).map(lookAtTheirs),
    ])
    if (isDropped.every((dropped) => dropped === false)) await store.finalize(scope, final)
    return isDropped.some((dropped) => dropped === true)
  }

  /** Undefined where it cannot be told now; it holds up no other. */
  async function lookAtBlock(block: BlockId): Promise<boolean | undefined> {
    try {
      if (await chain.includes(block)) return false
      for (const { id, hash } of await store.minedIn(scope, block)) {
        const inspection = await chain.transactionStatus(hash)
        if (inspection.status === 'mined' && inspection.block.hash === block.hash) continue
        const { reversed, reopened } = await store.reverse(id, block)
        tellReversed(hash, reversed)
        if (reopened.length > 0)
          logger.warn('a reorg undid what had ended payments; they are open again', {
            transaction: hash,
            settlementIds: reopened,
          })
      }
      return true
    } catch (error) {
      logger.warn('a settled transaction could not be looked at; trying again', { block, error })
      return undefined
    }
  }

  async function lookAtTheirs(settlement: ExternalSettlement): Promise<boolean | undefined> {
    try {
      const payment = network.family.readPayment(settlement.payload)
      const fate = payment && (await chain.paymentStatus(payment, settlement.terms))
      if (fate?.status !== 'open' && fate?.status !== 'void') return false
      if (await store.reclaim(settlement)) tellReversed(settlement.hash, [settlement.id])
      return true
    } catch (error) {
      logger.warn('a settled payment could not be looked at; trying again', {
        ...idsOf(settlement),
        error,
      })
      return undefined
    }
  }

  function tellReversed(transaction: string, settlements: readonly bigint[]) {
    if (settlements.length === 0) return
    logger.error('reorg dropped transaction', {
      transaction,
      settlementIds: settlements,
    })
    settlements.forEach(() => counts.reversed({ network: name }))
  }

  return { checkMined }
}
