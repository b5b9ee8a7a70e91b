import { ChainUnavailable } from '../../errors'
import { type BlockId, type TransactionStatus } from '../../family'
import { confirmedHeight, sequenceOf } from './confirmations'
import type { TxResult } from '../rpc-schemas'
import { feeOf, ONLY_TRANSFER, settles, usedSequence } from './tx-result'
import type { CosmosNetwork } from '../network'
import type { CosmosPayment } from '../transfer-methods/bank-send/payment'

/** Confirms a node's claim that a transaction is mined: its signer's sequence must be used. */
async function isSequenceUsed(network: CosmosNetwork, result: TxResult): Promise<boolean> {
  const used = usedSequence(result, network)
  return used !== undefined && sequenceOf(await network.rpc.account(used.address)) > used.sequence
}

/** See `ChainNode.transactionStatus`. A transaction that failed before it used its sequence is `unknown`: it can be mined again. */
export async function transactionStatus(
  network: CosmosNetwork,
  hash: string,
): Promise<TransactionStatus<CosmosPayment>> {
  const { rpc } = network
  const [result, newest] = await Promise.all([rpc.tx(hash), rpc.newestBlock()])
  if (!result?.isCharged) return { status: rpc.wasAccepted(hash) ? 'waiting' : 'unknown' }
  const [block, isUsed] = await Promise.all([rpc.blockAt(result.height), isSequenceUsed(network, result)])
  if (block === undefined) throw new ChainUnavailable(`The node is behind block ${result.height}`)
  if (!isUsed) return { status: 'waiting' }
  return {
    status: 'mined',
    block: { number: block.number, hash: block.hash },
    isConfirmed: result.height <= confirmedHeight(network, newest.number),
    succeeded: result.code === 0,
    fee: feeOf(result, network),
    settles: (payment, terms) => settles(result, payment, terms),
    placeOf: (payment, terms) => (settles(result, payment, terms) ? ONLY_TRANSFER : undefined),
    // The bank module moves exactly the coins of the message.
    differs: () => false,
  }
}

/** See `ChainNode.includes`. */
export async function includes({ rpc }: CosmosNetwork, { number, hash }: BlockId): Promise<boolean> {
  const block = await rpc.blockAt(number)
  if (block === undefined) throw new ChainUnavailable(`The node is behind block ${number}`)
  return block.hash === hash.toUpperCase()
}
