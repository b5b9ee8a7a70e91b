import { ChainUnavailable, type SignedTransaction, TransactionRejected } from '../family'
import { RpcError } from '../json-rpc/rpc'
import { Hash, Transaction } from './answers'
import type { Rpc } from './rpc'

const alreadyThere = /already known|already imported|known transaction|already exists/i
/** What more time would not change, the words of geth, anvil and their kin. */
const forGood =
  /nonce too low|insufficient funds|intrinsic gas|gas limit|underpriced|less than block base fee|fee cap|invalid (sender|chain)|not supported/i

/** Whether the node has the transaction, mined or waiting. */
const knows = async (rpc: Rpc, hash: string): Promise<boolean> =>
  (await rpc.call(Transaction.nullable(), 'eth_getTransactionByHash', [hash]))?.hash === hash

/**
 * Sends a signed transaction; one that the node has already is no error.
 * Rejects with `TransactionRejected` where the node will not take it, with `ChainUnavailable` where that is not known.
 */
export async function broadcast(rpc: Rpc, { raw, hash }: SignedTransaction): Promise<void> {
  try {
    await rpc.ask(Hash, 'eth_sendRawTransaction', [raw])
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (alreadyThere.test(error.message) || (await knows(rpc, hash))) return
    // Refused by one node, it may wait with another that heard it: nobody may take it for refused by all.
    const isRefused = forGood.test(error.message) && !error.mayBeDone
    const Problem = isRefused ? TransactionRejected : ChainUnavailable
    throw new Problem(`The node does not take ${hash}: ${error.message}`, { cause: error })
  }
}
