import { ChainUnavailable, type SignedTransaction, TransactionRejected } from '../family'
import { addressOf } from './address'
import { sequenceOf } from './confirmed'
import type { CosmosNetwork } from './network'
import { IN_MEMPOOL } from './rpc'
import { decodeTx } from './tx'

const WRONG_SEQUENCE = 32

/** Of the Cosmos SDK: of the node and not of the transaction, or of a moment. All else that a node says, it will say again. */
const passing: Readonly<Record<string, readonly number[]>> = {
  // Mempool full, invalid height, input and output, its configuration.
  sdk: [20, 26, 39, 40],
  // An internal error, and a panic.
  undefined: [1, 111222],
  // CometBFT's own: mempool full, there already, and what a check after CheckTx says.
  mempool: [1, 2, 3],
}

/**
 * Whether its sequence went to another transaction; one that only waits may yet be dropped. Where a node shows none that took
 * it, it may be this very one, which that node has yet to index.
 */
async function wentToAnother({ rpc, prefix }: CosmosNetwork, txBytes: Uint8Array): Promise<boolean> {
  const tx = decodeTx(txBytes)
  const [signer] = tx?.signers ?? []
  const address = tx?.send?.from ?? (signer?.publicKey && addressOf(signer.publicKey, prefix))
  if (signer === undefined || address === undefined) return true
  if (sequenceOf(await rpc.account(address)) <= signer.sequence) return false
  const taker = await rpc.txOfSequence(address, signer.sequence)
  return taker !== undefined && taker.hash !== tx?.hash
}

/**
 * Sends a signed transaction; one that the node has already, or that is mined, is no error.
 * Rejects with `TransactionRejected` where the node will not take it, with `ChainUnavailable` where that is not known.
 */
export async function broadcast(network: CosmosNetwork, { raw, hash }: SignedTransaction): Promise<void> {
  const { rpc } = network
  const txBytes = new Uint8Array(Buffer.from(raw, 'base64'))
  const { code, codespace, log } = await rpc.broadcast(txBytes)
  if (code === 0 || (code === IN_MEMPOOL.code && codespace === IN_MEMPOOL.codespace)) return
  if ((await rpc.tx(hash))?.isCharged) return
  const isPassing =
    code === WRONG_SEQUENCE && codespace === 'sdk'
      ? !(await wentToAnother(network, txBytes))
      : passing[codespace]?.includes(code)
  const Problem = isPassing ? ChainUnavailable : TransactionRejected
  throw new Problem(`The node does not take ${hash}: code ${code} (${codespace}), ${log.slice(0, 300)}`)
}
