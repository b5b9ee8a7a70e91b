import { type Logger } from '@tollgate/service'
import { type SettlementMetrics } from './metrics'
import { idsOf } from './log-fields'
import { type Claim, type ClaimOutcome } from './claims/claim'

export type ReportOutcome = (claim: Claim, outcome: ClaimOutcome) => void

/** Logs and metrics a completed settlement. Must follow the commit. */
export const createReportOutcome =
  ({
    network,
    logger,
    metrics,
  }: {
    network: string
    logger: Logger
    metrics: SettlementMetrics
  }): ReportOutcome =>
  (claim, outcome) => {
    const { clientId, terms, createdAt, attempts, isReported } = claim
    const facts = {
      ...idsOf(claim),
      client: clientId,
      asset: terms.token.asset,
      amount: terms.amount,
      payTo: terms.payTo,
      ...(attempts > 0 ? { attempts } : {}),
    }
    if (outcome.status === 'failed') {
      const { reason, detail, mismatch } = outcome
      if (mismatch)
        logger.error('asset suspended, transfer mismatch', {
          ...facts,
          reason,
          detail,
          transaction: mismatch.hash,
        })
      else if (isReported) logger.error('settlement reversed, final', { ...facts, reason, detail })
      else logger.warn('settlement failed', { ...facts, reason, detail })
      metrics.ended({ network, outcome: isReported ? 'reversed' : 'failed', reason, claimedAt: createdAt })
    } else {
      const { hash, blockNumber } = outcome
      logger.info('settlement settled', { ...facts, transaction: hash, blockNumber })
      metrics.ended({ network, outcome: 'settled', reason: '', claimedAt: createdAt })
    }
  }
