import { refuse } from '../../checks'
import { ChainUnavailable, NodeStarting, TransactionRejected } from '../../errors'
import { type SignedTransaction } from '../../family'
import { addressOf } from '../address'
import { sequenceOf } from '../observation/confirmations'
import type { CosmosNetwork } from '../network'
import { type CheckTxResult, IN_MEMPOOL, isBeforeFirstBlock, isFeeTooLow } from '../rpc'
import { decodeTx, type Tx } from '../signing/tx'

const WRONG_SEQUENCE = 32

/** Codes by codespace that concern the node, or only the moment. Every other refusal is final. */
const transientCodes: Readonly<Record<string, readonly number[]>> = {
  // Mempool full, invalid height, I/O, configuration.
  sdk: [20, 26, 39, 40],
  // Internal error, panic.
  undefined: [1, 111222],
  // CometBFT's own: mempool full, transaction in the cache, post-check failure.
  mempool: [1, 2, 3],
}

function senderOf(tx: Tx | undefined, prefix: string): string | undefined {
  const [signer] = tx?.signers ?? []
  return tx?.send?.from ?? (signer?.publicKey && addressOf(signer.publicKey, prefix))
}

/** Whether the sender's account really has number 0, as a node assumes before its first block. */
async function isGenesisAccount({ rpc, prefix }: CosmosNetwork, tx: Tx | undefined): Promise<boolean> {
  const address = senderOf(tx, prefix)
  return address === undefined || (await rpc.account(address))?.accountNumber === 0n
}

/** "fee 749uatom, this node asks 750uatom", parsed from the SDK's message; else the message itself. */
function feeDetail(log: string): string {
  const [, got, required] = /insufficient fees; got: (\S*) required: (\S+?)(?::|\s|$)/.exec(log) ?? []
  return required === undefined ? log.slice(0, 200) : `fee ${got || '0'}, this node asks ${required}`
}

/**
 * Whether a mined transaction with another hash used the sequence. False if no such transaction is found, because the node
 * may not have indexed this one yet.
 */
async function isSequenceTaken({ rpc, prefix }: CosmosNetwork, txBytes: Uint8Array): Promise<boolean> {
  const tx = decodeTx(txBytes)
  const [signer] = tx?.signers ?? []
  const address = senderOf(tx, prefix)
  if (signer === undefined || address === undefined) return true
  if (sequenceOf(await rpc.account(address)) <= signer.sequence) return false
  const other = await rpc.txOfSequence(address, signer.sequence)
  return other !== undefined && other.hash !== tx?.hash
}

/** See `ChainNode.broadcast`. Rejects with `ChainUnavailable` if a node may accept the transaction later, or already has it. */
export async function broadcast(network: CosmosNetwork, { raw, hash }: SignedTransaction): Promise<void> {
  const { rpc } = network
  const txBytes = new Uint8Array(Buffer.from(raw, 'base64'))
  const result = await rpc.broadcast(txBytes)
  const { code, codespace, log } = result
  if (code === 0 || (code === IN_MEMPOOL.code && codespace === IN_MEMPOOL.codespace)) return
  if ((await rpc.tx(hash))?.isCharged) return
  const message = `The node refused ${hash}: code ${code} (${codespace}), ${log.slice(0, 300)}`
  if (isFeeTooLow(result))
    throw new TransactionRejected(message, { verdict: refuse('invalid_payment', feeDetail(log)) })
  if (isBeforeFirstBlock(result) && !(await isGenesisAccount(network, decodeTx(txBytes))))
    throw new NodeStarting(message)
  const Problem = (await isTransient(network, result, txBytes)) ? ChainUnavailable : TransactionRejected
  throw new Problem(message)
}

const isTransient = async (
  network: CosmosNetwork,
  { code, codespace }: CheckTxResult,
  txBytes: Uint8Array,
): Promise<boolean> =>
  code === WRONG_SEQUENCE && codespace === 'sdk'
    ? !(await isSequenceTaken(network, txBytes))
    : transientCodes[codespace]?.includes(code) === true
