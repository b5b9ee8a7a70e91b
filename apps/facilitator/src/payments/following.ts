import { TransactionRejected, type Payment } from '@tollgate/chains'
import { type Pool } from '@tollgate/database'
import { type Logger } from '@tollgate/service'
import { type Network } from '../networks/network'
import { type Conclude } from './conclude'
import { type SettlerStore, type Signed } from './settler-store'

/** Transactions looked at together. */
const BATCH = 200

/** Sees signed settlements through to their end, whoever signed them and however often this process was killed meanwhile. */
export function createFollower(parts: {
  network: Network
  signer: string
  pool: Pool
  store: SettlerStore
  conclude: Conclude
  logger: Logger
}) {
  const { network, signer, pool, store, conclude, logger } = parts
  const { chain } = network

  /** Looks once at all that is signed and not over. Resolves to how many are still open, and how many were ended. */
  async function followSigned(): Promise<{ open: number; ended: number }> {
    const signed = await store.unfinished(network.name, signer, BATCH)
    const ends = await Promise.all(signed.map(follow))
    const ended = ends.filter((isOver) => isOver).length
    return { open: signed.length - ended, ended }
  }

  async function follow(settlement: Signed): Promise<boolean> {
    const { id, payload, terms, transaction, transactionId } = settlement
    try {
      const payment = network.family.readPayment(payload)
      if (!payment) throw new Error('the stored payload cannot be read')
      const outcome = await chain.outcome(transaction.hash, payment, terms)
      if (outcome.status === 'pending') return false
      if (outcome.status === 'unknown') return await sendAgain(settlement, payment)
      const end =
        outcome.status === 'settled'
          ? outcome
          : ((await chain.findSettled(payment, terms, outcome.blockNumber)) ?? outcome)
      if (end.status === 'pending') return false
      await store.noteMined(transactionId, outcome)
      await conclude(pool, settlement, end)
      return true
    } catch (error) {
      const level = error instanceof TransactionRejected ? 'error' : 'warn'
      logger.log(level, 'a signed settlement could not be followed; trying again', {
        settlement: id,
        transaction: transaction.hash,
        error,
      })
      return false
    }
  }

  /**
   * What the node does not know, be it lost or dropped, is sent as it was. Where the node will never take it, because its
   * nonce went to another transaction, the payment has still not failed before nobody can settle it any more.
   */
  async function sendAgain(settlement: Signed, payment: Payment): Promise<boolean> {
    const { transaction, terms } = settlement
    try {
      await chain.broadcast(transaction)
      await store.noteBroadcast(transaction.hash)
      return false
    } catch (error) {
      if (!(error instanceof TransactionRejected)) throw error
      const { number, timestamp } = await chain.head()
      const elsewhere = await chain.findSettled(payment, terms, number)
      if (elsewhere?.status === 'settled') await conclude(pool, settlement, elsewhere)
      else if (!elsewhere && payment.validUntil !== undefined && BigInt(timestamp) >= payment.validUntil)
        await conclude(pool, settlement, { reason: 'payment_expired', detail: error.message })
      else throw error
      return true
    }
  }

  return { followSigned }
}
