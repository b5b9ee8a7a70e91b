import { z } from 'zod'
import { ChainUnavailable } from '../../family'
import { Log, quantity } from '../rpc-schemas'
import type { EvmNetwork } from '../network'

/** Most public nodes search this many blocks in one call; together this is a day of a chain with a block every two seconds. */
const BLOCKS_A_SEARCH = 2_000n
const MAX_SEARCHES = 25

type Filter = { address: string; topics: readonly (string | readonly string[])[] }

/** The events of a contract in these blocks, and how far the node is: one that lacks the last finds nothing in it, and calls that no error. */
async function searchBlocks(
  { rpc }: EvmNetwork,
  { first, last }: { first: bigint; last: bigint },
  filter: Filter,
): Promise<{ events: Log[]; height: bigint }> {
  const [logs, height] = await Promise.all([
    rpc.call(z.array(Log), 'eth_getLogs', [
      { ...filter, fromBlock: quantity(first), toBlock: quantity(last) },
    ]),
    rpc.height(),
  ])
  return { events: logs.filter(({ removed }) => removed !== true), height }
}

const behind = (height: bigint, block: bigint) =>
  new ChainUnavailable(`The node is at block ${height}, behind ${block}`)

/** The time of a block, in Unix seconds; rejects with `ChainUnavailable` where the node lacks it. */
export async function timeAt({ rpc }: EvmNetwork, number: bigint): Promise<bigint> {
  const block = await rpc.blockAt(number)
  if (block === undefined) throw new ChainUnavailable(`The node lacks block ${number}`)
  return block.timestamp
}

/**
 * The events of a contract with these topics, from block `height` back, a stretch of blocks at a time and the newest first;
 * those more than 50,000 blocks ago are not looked for, nor are stretches that end before the time `since` (Unix seconds).
 * Rejects with `ChainUnavailable`, when the next stretch is asked for, where a node may have been asked that lacks blocks of
 * the last one.
 */
export async function* searchBack(
  network: EvmNetwork,
  height: bigint,
  filter: Filter,
  since = 0n,
): AsyncGenerator<Log[], void> {
  let last = height
  for (let search = 0; search < MAX_SEARCHES && last >= 0n; search++) {
    const first = last < BLOCKS_A_SEARCH ? 0n : last - BLOCKS_A_SEARCH + 1n
    const found = await searchBlocks(network, { first, last }, filter)
    yield found.events
    if (found.height < last) throw behind(found.height, last)
    if (since > 0n && first > 0n && (await timeAt(network, first)) < since) return
    last = first - 1n
  }
}

/** Where a transaction was mined. */
export type Place = { hash: string; blockNumber: bigint; blockHash: string }

/** Where an event is; undefined of one that is not mined. */
export const placeOf = ({ transactionHash, blockNumber, blockHash }: Log): Place | undefined =>
  transactionHash != null && blockNumber != null && blockHash != null
    ? { hash: transactionHash, blockNumber, blockHash }
    : undefined

/**
 * The events of a contract with these topics in one transaction, in their order; undefined where the chain has another block
 * in the place of its block. A receipt would tell as much, but it holds whatever else others put into the transaction, and
 * can be made too long to read. Rejects with `ChainUnavailable` where a node may have been asked that lacks the block.
 */
export async function eventsWithin(
  network: EvmNetwork,
  { hash, blockNumber, blockHash }: Place,
  filter: Filter,
): Promise<Log[] | undefined> {
  const [{ events, height }, block] = await Promise.all([
    searchBlocks(network, { first: blockNumber, last: blockNumber }, filter),
    network.rpc.blockAt(blockNumber),
  ])
  if (height < blockNumber) throw behind(height, blockNumber)
  if (block?.hash !== blockHash) return undefined
  return events.filter((event) => event.transactionHash === hash && event.blockHash === blockHash)
}
