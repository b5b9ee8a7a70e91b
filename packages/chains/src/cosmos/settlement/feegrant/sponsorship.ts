import { ChainUnavailable } from '../../../errors'
import { type PendingPayment, type Sponsorship } from '../../../family'
import { parseAddress } from '../../address'
import type { CosmosNetwork } from '../../network'
import type { CosmosPayment } from '../../transfer-methods/bank-send/payment'
import type { Coin, Tx } from '../../signing/tx'
import { type Clock, isExpiring, covers } from './allowance'

/** Small enough to fit into any block, and to limit the cost of one grant that makes the transaction fail. */
const MAX_GRANTS = 20

/** Whether the payer named our signer as the fee granter. */
const isSponsored = ({ signer }: CosmosNetwork, { fee }: Tx): boolean =>
  fee.granter !== '' && parseAddress(fee.granter) === signer

/**
 * The fee, if we pay it: one coin of the fee denomination, within the cap. Never 0, because an allowance of no coins has no
 * limit.
 */
export const sponsoredFee = (network: CosmosNetwork, { tx }: CosmosPayment): Coin | undefined =>
  isSponsored(network, tx) ? withinCap(network, tx) : undefined

/** The fee, if we pay it by our signature in the payer's transaction. */
export const paidFee = (network: CosmosNetwork, { tx, countersigned }: CosmosPayment): Coin | undefined =>
  countersigned && parseAddress(tx.fee.payer) === network.signer ? withinCap(network, tx) : undefined

function withinCap({ feeDenom, gaslessMaxFee }: CosmosNetwork, tx: Tx): Coin | undefined {
  const [coin, ...others] = tx.fee.coins
  if (coin === undefined || others.length > 0) return undefined
  if (gaslessMaxFee === undefined || coin.denom !== feeDenom) return undefined
  return coin.amount > 0n && coin.amount <= gaslessMaxFee ? coin : undefined
}

export async function getClock({ rpc }: CosmosNetwork): Promise<Clock> {
  const { timestamp: blockTime } = await rpc.newestBlock()
  const localTime = BigInt(Math.floor(Date.now() / 1_000))
  return { blockTime, time: localTime > blockTime ? localTime : blockTime }
}

/**
 * See `ChainPayments.sponsorship`: ready if our allowance covers the fee. Rejects with `ChainUnavailable` while an insufficient
 * allowance is about to expire, because a transaction that revokes an expired allowance fails as a whole.
 */
export async function sponsorship(
  network: CosmosNetwork,
  payment: CosmosPayment,
  minBlock = 0n,
): Promise<Sponsorship> {
  const { payer, tx } = payment
  if (!isSponsored(network, tx)) return { fee: 0n, isReady: true }
  const [allowance, clock] = await Promise.all([
    network.rpc.allowance(network.signer, payer, minBlock),
    getClock(network),
  ])
  const fee = tx.fee.coins.reduce((sum, { amount }) => sum + amount, 0n)
  if (allowance === undefined) return { fee, isReady: false }
  if (covers(allowance, tx.fee.coins, clock)) return { fee, isReady: true }
  if (isExpiring(allowance, clock))
    throw new ChainUnavailable(
      `${payer} has an allowance that is about to expire; another can be granted afterwards`,
    )
  return { fee, isReady: false }
}

/** Whether our allowance covers the fee; allowances of other granters do not count. */
export async function isGranted(
  network: CosmosNetwork,
  { payer, tx }: CosmosPayment,
  minBlock: bigint,
): Promise<boolean> {
  if (!isSponsored(network, tx)) return false
  const [allowance, clock] = await Promise.all([
    network.rpc.allowance(network.signer, payer, minBlock),
    getClock(network),
  ])
  return allowance !== undefined && covers(allowance, tx.fee.coins, clock)
}

/**
 * See `ChainPayments.batches`. A payer can have only one allowance at a time, so its later payments are left
 * out. A payment that we sign too is a transaction of its own.
 */
export function batches<D extends PendingPayment<CosmosPayment>>(pending: readonly D[]): D[][] {
  const payers = new Set<string>()
  const all: D[][] = []
  let shared: D[] | undefined
  for (const one of pending) {
    const { payer } = one.payment
    if (payers.has(payer)) continue
    payers.add(payer)
    if (one.isAlone || one.payment.countersigned) all.push([one])
    else if (shared !== undefined && shared.length < MAX_GRANTS) shared.push(one)
    else all.push((shared = [one]))
  }
  return all
}
