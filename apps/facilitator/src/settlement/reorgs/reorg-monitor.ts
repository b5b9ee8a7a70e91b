import { type BlockId } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { type Network } from '../../networks/network'
import { type SettlementMetrics } from '../metrics'
import { idsOf } from '../log-fields'
import { type ExternalSettlement, type ReorgStore } from './reorg-store'
import { type SignerScope } from '../transactions/transaction-store'

/** Checks settled transactions until no reorg can drop them. A dropped transaction is reversed, broadcast and tracked again. */
export function createReorgMonitor(parts: {
  network: Network
  scope: SignerScope
  store: ReorgStore
  metrics: SettlementMetrics
  logger: Logger
}) {
  const { network, scope, store, metrics, logger } = parts
  const { chain, name } = network

  /** One pass over the blocks with our transactions, and over external settlements. Resolves to whether a reorg dropped any. */
  async function checkMined(): Promise<boolean> {
    const blocks = await store.watched(scope)
    const { number: height } = await chain.node.head()
    const final = height - chain.node.reorgDepth
    const isDropped = await Promise.all([
      ...blocks.map(checkBlock),
      ...(await store.settledElsewhere(name, final)).map(checkExternal),
    ])
    if (isDropped.every((dropped) => dropped === false)) await store.finalize(scope, final)
    return isDropped.some((dropped) => dropped === true)
  }

  /** Undefined if unknown now. */
  async function checkBlock(block: BlockId): Promise<boolean | undefined> {
    try {
      if (await chain.node.includes(block)) return false
      for (const { id, hash } of await store.minedIn(scope, block)) {
        const inspection = await chain.node.transactionStatus(hash)
        if (inspection.status === 'mined' && inspection.block.hash === block.hash) continue
        const { reversed, reopened } = await store.reverse(id, block)
        reportReversed(hash, reversed)
        if (reopened.length > 0)
          logger.warn('reorg reopened settlements', {
            transaction: hash,
            settlementIds: reopened,
          })
      }
      return true
    } catch (error) {
      logger.warn('reorg check of block failed', { block, error })
      return undefined
    }
  }

  async function checkExternal(settlement: ExternalSettlement): Promise<boolean | undefined> {
    try {
      const payment = network.family.readPayment(settlement.payload)
      const status = payment && (await chain.payments.paymentStatus({ payment, terms: settlement.terms }))
      if (status?.status !== 'open' && status?.status !== 'void') return false
      if (await store.reclaim(settlement)) reportReversed(settlement.hash, [settlement.id])
      return true
    } catch (error) {
      logger.warn('reorg check of external settlement failed', {
        ...idsOf(settlement),
        error,
      })
      return undefined
    }
  }

  function reportReversed(transaction: string, settlements: readonly bigint[]) {
    if (settlements.length === 0) return
    logger.error('reorg dropped transaction', {
      transaction,
      settlementIds: settlements,
    })
    settlements.forEach(() => metrics.reversed({ network: name }))
  }

  return { checkMined }
}
