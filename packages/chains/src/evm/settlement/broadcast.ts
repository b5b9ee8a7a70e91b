import { ChainUnavailable, TransactionRejected } from '../../errors'
import { type SignedTransaction } from '../../family'
import { RpcError } from '../../json-rpc/sender'
import { Hash, Transaction } from '../rpc-schemas'
import type { Rpc } from '../rpc'

const alreadyKnown = /already known|already imported|known transaction|already exists/i
/** Refusals that a retry would not change, in the words of geth, anvil and their forks. */
const permanent =
  /nonce too low|insufficient funds|intrinsic gas|gas limit|underpriced|less than block base fee|fee cap|invalid (sender|chain)|not supported/i

const hasTransaction = async (rpc: Rpc, hash: string): Promise<boolean> =>
  (await rpc.call(Transaction.nullable(), 'eth_getTransactionByHash', [hash]))?.hash === hash

/** See `ChainNode.broadcast`. Rejects with `ChainUnavailable` if a node may have accepted the transaction. */
export async function broadcast(rpc: Rpc, { raw, hash }: SignedTransaction): Promise<void> {
  try {
    await rpc.tryCall(Hash, 'eth_sendRawTransaction', [raw])
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (alreadyKnown.test(error.message) || (await hasTransaction(rpc, hash))) return
    // One node refused it, but an earlier one may have it in its mempool.
    const isRejected = permanent.test(error.message) && !error.mayHaveExecuted
    const Problem = isRejected ? TransactionRejected : ChainUnavailable
    throw new Problem(`The node refused ${hash}: ${error.message}`, { cause: error })
  }
}
