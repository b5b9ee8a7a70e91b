import { z } from 'zod'
import { ChainUnavailable } from '../family'
import { Log, quantity } from './answers'
import type { EvmNetwork } from './network'

/** Most public nodes search this many blocks in one call; together this is a day of a chain with a block every two seconds. */
const BLOCKS_A_SEARCH = 2_000n
const MAX_SEARCHES = 25

/**
 * The events of a contract with these topics, from block `height` back, a stretch of blocks at a time and the newest first;
 * those more than 50,000 blocks ago are not looked for. Rejects with `ChainUnavailable`, when the next stretch is asked for,
 * where a node may have been asked that lacks blocks of the last one.
 */
export async function* searchBack(
  { rpc }: EvmNetwork,
  height: bigint,
  filter: { address: string; topics: readonly (string | readonly string[])[] },
): AsyncGenerator<Log[], void> {
  let last = height
  for (let search = 0; search < MAX_SEARCHES && last >= 0n; search++) {
    const first = last < BLOCKS_A_SEARCH ? 0n : last - BLOCKS_A_SEARCH + 1n
    // A node that lacks the last blocks finds nothing in them, and calls that no error.
    const [logs, has] = await Promise.all([
      rpc.call(z.array(Log), 'eth_getLogs', [
        { ...filter, fromBlock: quantity(first), toBlock: quantity(last) },
      ]),
      rpc.height(),
    ])
    yield logs.filter(({ removed }) => removed !== true)
    if (has < last) throw new ChainUnavailable(`The node is at block ${has}, behind ${last}`)
    last = first - 1n
  }
}
