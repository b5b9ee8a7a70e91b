import { type Outcome, type Refusal } from '@tollgate/chains'
import { type Logger } from '@tollgate/service'
import { isRefusal } from './order'
import { type Claim, type Session, type SettlerStore } from './settler-store'

type End = Refusal | Pick<Extract<Outcome, { status: 'settled' }>, 'hash' | 'blockNumber'>

/** Ends a settlement, tells those who wait for it, and leaves a line in the log. */
export type Conclude = (session: Session, claim: Claim, end: End) => Promise<void>

export const createConclude =
  (store: SettlerStore, logger: Logger): Conclude =>
  async (session, { id, clientId, terms }, end) => {
    const facts = {
      settlement: id,
      client: clientId,
      asset: terms.token.asset,
      amount: terms.amount,
      payTo: terms.payTo,
    }
    if (isRefusal(end)) {
      await store.conclude(session, id, { status: 'failed', reason: end.reason })
      logger.warn('settlement failed', { ...facts, reason: end.reason, detail: end.detail })
      return
    }
    const { hash, blockNumber } = end
    await store.conclude(session, id, { status: 'settled', hash, blockNumber })
    logger.info('settlement settled', { ...facts, transaction: hash, blockNumber })
  }
