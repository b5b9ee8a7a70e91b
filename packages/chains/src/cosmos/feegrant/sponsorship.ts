import { ChainUnavailable, type Due, type Sponsorship } from '../../family'
import { parseAddress } from '../address'
import type { CosmosNetwork } from '../network'
import type { CosmosPayment } from '../payment'
import type { Coin, Tx } from '../tx'
import { type Clock, isLapsing, suffices } from './allowance'

/** So few that the transaction finds room in any block, and that one spoilt among them costs little. */
const MOST_GRANTS = 20

/** Whether the payer named us as the one who bears the fee. */
const isSponsored = ({ signer }: CosmosNetwork, { fee }: Tx): boolean =>
  fee.granter !== '' && parseAddress(fee.granter) === signer

/**
 * The fee that we may bear: one coin of the fee denomination, above zero and within the cap of a payment. Undefined for any
 * other. Nothing may ever be granted for a fee of zero: an allowance with no coins has no limit.
 */
export function bearable(network: CosmosNetwork, { tx }: CosmosPayment): Coin | undefined {
  const { feeDenom, gaslessMaxFee } = network
  const [coin, ...others] = tx.fee.coins
  if (!isSponsored(network, tx) || coin === undefined || others.length > 0) return undefined
  if (gaslessMaxFee === undefined || coin.denom !== feeDenom) return undefined
  return coin.amount > 0n && coin.amount <= gaslessMaxFee ? coin : undefined
}

/** What time it is on the chain. */
export async function askClock({ rpc }: CosmosNetwork): Promise<Clock> {
  const { timestamp: blockTime } = await rpc.newestBlock()
  const ours = BigInt(Math.floor(Date.now() / 1_000))
  return { blockTime, time: ours > blockTime ? ours : blockTime }
}

/**
 * See `Chain.sponsorship`. It is ready where an allowance of ours covers its fee. Rejects with `ChainUnavailable` also while
 * one that does not is about to lapse: a transaction that revokes what is gone fails as a whole.
 */
export async function sponsorship(
  network: CosmosNetwork,
  payment: CosmosPayment,
  since = 0n,
): Promise<Sponsorship> {
  const { payer, tx } = payment
  if (!isSponsored(network, tx)) return { fee: 0n, isReady: true }
  const [allowance, clock] = await Promise.all([
    network.rpc.allowance(network.signer, payer, since),
    askClock(network),
  ])
  const fee = tx.fee.coins.reduce((sum, { amount }) => sum + amount, 0n)
  if (allowance === undefined) return { fee, isReady: false }
  if (suffices(allowance, tx.fee.coins, clock)) return { fee, isReady: true }
  if (isLapsing(allowance, clock))
    throw new ChainUnavailable(
      `${payer} has an allowance that is about to lapse; another can be granted then`,
    )
  return { fee, isReady: false }
}

/** Whether an allowance of ours covers the fee; of what others allow nothing is asked. */
export async function isGranted(
  network: CosmosNetwork,
  { payer, tx }: CosmosPayment,
  since: bigint,
): Promise<boolean> {
  if (!isSponsored(network, tx)) return false
  const [allowance, clock] = await Promise.all([
    network.rpc.allowance(network.signer, payer, since),
    askClock(network),
  ])
  return allowance !== undefined && suffices(allowance, tx.fee.coins, clock)
}

/**
 * See `Chain.batches`: payments that wait for an allowance, twenty in a transaction. A payer can have one allowance at a time;
 * of two payments of one payer the later is in no batch.
 */
export function batches<D extends Due<CosmosPayment>>(due: readonly D[]): D[][] {
  const payers = new Set<string>()
  const all: D[][] = []
  let shared: D[] | undefined
  for (const one of due) {
    const { payer } = one.payment
    if (payers.has(payer)) continue
    payers.add(payer)
    if (one.isAlone) all.push([one])
    else if (shared !== undefined && shared.length < MOST_GRANTS) shared.push(one)
    else all.push((shared = [one]))
  }
  return all
}
