import { type Logger } from '@tollgate/service'
import { type Counts } from '../operations/counts'
import { idsOf } from './log-fields'
import { type Claim, type Conclusion } from './settler-store'

export type Tell = (claim: Claim, conclusion: Conclusion) => void

/** Leaves a line in the log for a settlement that has ended, and counts it. To be called once that is written. */
export const createTell =
  ({ network, logger, counts }: { network: string; logger: Logger; counts: Counts }): Tell =>
  (claim, conclusion) => {
    const { clientId, terms, createdAt, attempts, isHandedOut } = claim
    const facts = {
      ...idsOf(claim),
      client: clientId,
      asset: terms.token.asset,
      amount: terms.amount,
      payTo: terms.payTo,
      ...(attempts > 0 ? { attempts } : {}),
    }
    if (conclusion.status === 'failed') {
      const { reason, detail, mismatch } = conclusion
      if (mismatch)
        logger.error('settlement moved another amount; asset suspended', {
          ...facts,
          reason,
          detail,
          transaction: mismatch.hash,
        })
      else if (isHandedOut) logger.error('settlement reversed for good', { ...facts, reason, detail })
      else logger.warn('settlement failed', { ...facts, reason, detail })
      counts.ended({ network, end: isHandedOut ? 'reversed' : 'failed', reason, claimedAt: createdAt })
    } else {
      const { hash, blockNumber } = conclusion
      logger.info('settlement settled', { ...facts, transaction: hash, blockNumber })
      counts.ended({ network, end: 'settled', reason: '', claimedAt: createdAt })
    }
  }
