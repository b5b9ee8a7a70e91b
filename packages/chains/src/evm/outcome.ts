import { z } from 'zod'
import { ChainUnavailable, type Outcome, type Terms } from '../family'
import { sameAddress } from './address'
import { Block, Data, Log, Quantity, quantity, Receipt, Transaction } from './answers'
import { calls, holdsTransfer, spentTopics } from './eip3009'
import type { EvmPayment } from './payment'
import type { Rpc } from './rpc'

export type Readings = { confirmations: number; signers: readonly string[] }

/** Only what one of our signers sent was charged to us. */
const feeOf = ({ from, gasUsed, effectiveGasPrice, l1Fee }: Receipt, signers: readonly string[]): bigint =>
  signers.some((signer) => sameAddress(from, signer)) ? gasUsed * effectiveGasPrice + (l1Fee ?? 0n) : 0n

/**
 * What became of the transaction. Settled or failed only by a receipt for this very hash, in a block that the chain still
 * has at its height, with the confirmations asked for; settled only where its events hold the transfer of `payment`.
 */
export async function readOutcome(
  rpc: Rpc,
  { confirmations, signers }: Readings,
  hash: string,
  payment: EvmPayment,
  terms: Terms,
): Promise<Outcome> {
  const [receipt, transaction, height] = await Promise.all([
    rpc.call(Receipt.nullable(), 'eth_getTransactionReceipt', [hash]),
    rpc.call(Transaction.nullable(), 'eth_getTransactionByHash', [hash]),
    rpc.call(Quantity, 'eth_blockNumber', []),
  ])
  if (receipt === null) return { status: transaction === null ? 'unknown' : 'pending' }
  if (receipt.transactionHash !== hash.toLowerCase())
    throw new ChainUnavailable(`The node answers ${receipt.transactionHash} when asked for ${hash}`)
  const { blockNumber } = receipt
  if (height - blockNumber + 1n < BigInt(confirmations)) return { status: 'pending' }
  const block = await rpc.call(Block.nullable(), 'eth_getBlockByNumber', [quantity(blockNumber), false])
  if (block?.hash !== receipt.blockHash) return { status: 'pending' }

  const fee = feeOf(receipt, signers)
  const failed = (detail: string): Outcome => ({
    status: 'failed',
    reason: 'invalid_transaction_state',
    detail,
    blockNumber,
    fee,
  })
  if (receipt.status !== 1n) return failed('the transaction was reverted')
  if (!holdsTransfer(receipt.logs, terms.token.asset, payment))
    return failed('the transaction holds no Transfer of exactly this payment')
  return { status: 'settled', hash: receipt.transactionHash, blockNumber, fee }
}

/** Most public nodes search this many blocks in one call; together this is a day of a chain with a block every two seconds. */
const BLOCKS_A_SEARCH = 2_000n
const MAX_SEARCHES = 25

/** The transaction in which the authorization of `payment` was used or cancelled, newest blocks first. */
async function findAuthorization(rpc: Rpc, height: bigint, payment: EvmPayment, asset: string) {
  const topics = spentTopics(payment)
  let last = height
  for (let search = 0; search < MAX_SEARCHES && last >= 0n; search++) {
    const first = last < BLOCKS_A_SEARCH ? 0n : last - BLOCKS_A_SEARCH + 1n
    // A node that lacks the last blocks finds nothing in them, and calls that no error.
    const [logs, has] = await Promise.all([
      rpc.call(z.array(Log), 'eth_getLogs', [
        { address: asset, topics, fromBlock: quantity(first), toBlock: quantity(last) },
      ]),
      rpc.call(Quantity, 'eth_blockNumber', []),
    ])
    const hash = logs.find(({ removed }) => removed !== true)?.transactionHash
    if (hash) return hash
    if (has < last) throw new ChainUnavailable(`The node is at block ${has}, behind ${last}`)
    last = first - 1n
  }
  return undefined
}

/** Nodes behind one URL are hardly further apart than this, and every node keeps the state of so many blocks. */
const BLOCKS_APART = 20n

/**
 * The transfer of this very payment, whoever sent it; `pending` while it lacks confirmations. Undefined where its
 * authorization is unused, was cancelled, was used for another transfer, or was used more than 50,000 blocks ago.
 *
 * Behind one URL may be nodes of different height, each question going to another of them. Rejects with `ChainUnavailable`
 * where a node that lacks block `seen`, or the event of an authorization that was used only lately, may have been asked.
 */
export async function findSettled(
  rpc: Rpc,
  readings: Readings,
  payment: EvmPayment,
  terms: Terms,
  seen = 0n,
): Promise<Extract<Outcome, { status: 'settled' | 'pending' }> | undefined> {
  const { asset } = terms.token
  /** By the block's number: a node that lacks the block refuses, where it has a `latest` of its own. */
  async function isUsedAt(block: bigint): Promise<boolean> {
    const data = calls.isAuthorizationUsed(payment)
    const used = await rpc.run(Data, 'eth_call', [{ to: asset, data }, quantity(block)])
    return 'value' in used && !/^0x0*$/.test(used.value)
  }
  const height = await rpc.call(Quantity, 'eth_blockNumber', [])
  if (height < seen) throw new ChainUnavailable(`The node is at block ${height}, behind ${seen}`)
  if (!(await isUsedAt(height))) return undefined
  const hash = await findAuthorization(rpc, height, payment, asset)
  if (hash === undefined) {
    if (await isUsedAt(height < BLOCKS_APART ? 0n : height - BLOCKS_APART)) return undefined
    throw new ChainUnavailable('The node knows of an authorization used lately, and not of its event')
  }
  const outcome = await readOutcome(rpc, readings, hash, payment, terms)
  if (outcome.status === 'unknown') throw new ChainUnavailable(`The node names ${hash} and does not know it`)
  return outcome.status === 'failed' ? undefined : outcome
}
