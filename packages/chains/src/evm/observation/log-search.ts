import { z } from 'zod'
import { ChainUnavailable } from '../../errors'
import { Log, quantity } from '../rpc-schemas'
import type { Transfer } from '../../family'
import type { EvmNetwork } from '../network'

/** The range that most public nodes allow in one call. All searches together cover a day of 2-second blocks. */
const BLOCKS_A_SEARCH = 2_000n
const MAX_SEARCHES = 25

type Filter = { address: string; topics: readonly (string | readonly string[])[] }

/** Also returns the node's height, because a node reports no error for a block that it lacks. */
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

/** Unix seconds. Rejects with `ChainUnavailable` if the node lacks the block. */
export async function timeAt({ rpc }: EvmNetwork, number: bigint): Promise<bigint> {
  const block = await rpc.blockAt(number)
  if (block === undefined) throw new ChainUnavailable(`The node lacks block ${number}`)
  return block.timestamp
}

/**
 * Yields matching events backwards from block `height`, one range of blocks at a time. Stops after 50,000 blocks, or after
 * the first range that begins before `since` (Unix seconds). Rejects with `ChainUnavailable`, when the next range is
 * requested, if the node may lack blocks of the last one.
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

export type Place = { hash: string; blockNumber: bigint; blockHash: string }

/** Undefined if the event is not mined. */
export const placeOf = ({ transactionHash, blockNumber, blockHash }: Log): Place | undefined =>
  transactionHash != null && blockNumber != null && blockHash != null
    ? { hash: transactionHash, blockNumber, blockHash }
    : undefined

/**
 * The matching events of one transaction, in order; undefined if a reorg replaced its block. Unlike a receipt, the result
 * has no other events, with which a third party could make it too long to read. Rejects with `ChainUnavailable` if the
 * node may lack the block.
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

/** The transfer at this place. Rejects with `ChainUnavailable` if its block is not in the current chain. */
export async function transferAt(
  { rpc }: EvmNetwork,
  { hash, blockNumber, blockHash }: Place,
  place: string,
): Promise<Transfer> {
  const block = await rpc.blockAt(blockNumber)
  if (block?.hash !== blockHash) throw droppedBlock(hash)
  return { hash, blockNumber, time: block.timestamp, place }
}

export const droppedBlock = (hash: string) =>
  new ChainUnavailable(`The chain dropped the block that ${hash} was in`)
