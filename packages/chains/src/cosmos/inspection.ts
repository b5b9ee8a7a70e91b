import { type BlockId, ChainUnavailable, type Inspection } from '../family'
import { confirmedHeight, sequenceOf } from './confirmed'
import type { TxResult } from './answers'
import { feeOf, settles, takenBy } from './mined'
import type { CosmosNetwork } from './network'
import type { CosmosPayment } from './payment'

/** A transaction in a block is a node's word: its signer's account must have moved as well. */
async function hasTakenItsSequence(network: CosmosNetwork, found: TxResult): Promise<boolean> {
  const taken = takenBy(found, network)
  return taken !== undefined && sequenceOf(await network.rpc.account(taken.address)) > taken.sequence
}

/**
 * See `Chain.inspect`. A transaction that failed in its block before it took its sequence is unknown like one that never was
 * in any: it can be mined once more.
 */
export async function inspect(network: CosmosNetwork, hash: string): Promise<Inspection<CosmosPayment>> {
  const { rpc } = network
  const [found, newest] = await Promise.all([rpc.tx(hash), rpc.newestBlock()])
  if (!found?.isCharged) return { status: rpc.isTaken(hash) ? 'waiting' : 'unknown' }
  const [block, isTaken] = await Promise.all([rpc.blockAt(found.height), hasTakenItsSequence(network, found)])
  if (block === undefined) throw new ChainUnavailable(`The node is behind block ${found.height}`)
  if (!isTaken) return { status: 'waiting' }
  return {
    status: 'mined',
    block: { number: block.number, hash: block.hash },
    isConfirmed: found.height <= confirmedHeight(network, newest.number),
    succeeded: found.code === 0,
    fee: feeOf(found, network),
    settles: (payment, terms) => settles(found, payment, terms),
    // A chain moves the coins of a message as the message says.
    differs: () => false,
  }
}

/** Whether the chain has this very block; rejects with `ChainUnavailable` where the node is not that far. */
export async function includes({ rpc }: CosmosNetwork, { number, hash }: BlockId): Promise<boolean> {
  const block = await rpc.blockAt(number)
  if (block === undefined) throw new ChainUnavailable(`The node is behind block ${number}`)
  return block.hash === hash.toUpperCase()
}
