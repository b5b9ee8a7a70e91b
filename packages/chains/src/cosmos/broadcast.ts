import { refuse } from '../checks'
import { ChainUnavailable, NodeStarting, type SignedTransaction, TransactionRejected } from '../family'
import { addressOf } from './address'
import { sequenceOf } from './confirmed'
import type { CosmosNetwork } from './network'
import { type Checked, IN_MEMPOOL, isBeforeFirstBlock, isFeeTooLow } from './rpc'
import { decodeTx, type Tx } from './tx'

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

function senderOf(tx: Tx | undefined, prefix: string): string | undefined {
  const [signer] = tx?.signers ?? []
  return tx?.send?.from ?? (signer?.publicKey && addressOf(signer.publicKey, prefix))
}

/** Whether the node is right that the account has the number 0. */
async function isOfGenesis({ rpc, prefix }: CosmosNetwork, tx: Tx | undefined): Promise<boolean> {
  const address = senderOf(tx, prefix)
  return address === undefined || (await rpc.account(address))?.accountNumber === 0n
}

/** "fee 749uatom, this node asks 750uatom", from the SDK's own words; those where they are others. */
function feeDetail(log: string): string {
  const [, got, required] = /insufficient fees; got: (\S*) required: (\S+?)(?::|\s|$)/.exec(log) ?? []
  return required === undefined ? log.slice(0, 200) : `fee ${got || '0'}, this node asks ${required}`
}

/**
 * Whether its sequence went to another transaction; one that only waits may yet be dropped. Where a node shows none that took
 * it, it may be this very one, which that node has yet to index.
 */
async function wentToAnother({ rpc, prefix }: CosmosNetwork, txBytes: Uint8Array): Promise<boolean> {
  const tx = decodeTx(txBytes)
  const [signer] = tx?.signers ?? []
  const address = senderOf(tx, prefix)
  if (signer === undefined || address === undefined) return true
  if (sequenceOf(await rpc.account(address)) <= signer.sequence) return false
  const taker = await rpc.txOfSequence(address, signer.sequence)
  return taker !== undefined && taker.hash !== tx?.hash
}

/**
 * Sends a signed transaction; one that the node has already, or that is mined, is no error.
 * Rejects with `TransactionRejected` where no node that was sent it will take it, with `ChainUnavailable` where that is not
 * known.
 */
export async function broadcast(network: CosmosNetwork, { raw, hash }: SignedTransaction): Promise<void> {
  const { rpc } = network
  const txBytes = new Uint8Array(Buffer.from(raw, 'base64'))
  const checked = await rpc.broadcast(txBytes)
  const { code, codespace, log } = checked
  if (code === 0 || (code === IN_MEMPOOL.code && codespace === IN_MEMPOOL.codespace)) return
  if ((await rpc.tx(hash))?.isCharged) return
  const words = `The node does not take ${hash}: code ${code} (${codespace}), ${log.slice(0, 300)}`
  if (isFeeTooLow(checked))
    throw new TransactionRejected(words, { verdict: refuse('invalid_payment', feeDetail(log)) })
  if (isBeforeFirstBlock(checked) && !(await isOfGenesis(network, decodeTx(txBytes))))
    throw new NodeStarting(words)
  const Problem = (await isPassing(network, checked, txBytes)) ? ChainUnavailable : TransactionRejected
  throw new Problem(words)
}

const isPassing = async (
  network: CosmosNetwork,
  { code, codespace }: Checked,
  txBytes: Uint8Array,
): Promise<boolean> =>
  code === WRONG_SEQUENCE && codespace === 'sdk'
    ? !(await wentToAnother(network, txBytes))
    : passing[codespace]?.includes(code) === true
