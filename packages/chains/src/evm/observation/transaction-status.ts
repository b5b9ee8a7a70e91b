import type { BlockId, Terms, TransactionStatus } from '../../family'
import { ChainUnavailable } from '../../errors'
import { sameAddress } from '../address'
import type { Receipt } from '../rpc-schemas'
import { findTransaction } from './confirmations'
import type { EvmNetwork } from '../network'
import { type EvmPayment, transferMethodOf } from '../transfer-methods/payment'

/** 0 unless one of our signers sent the transaction. */
const feeOf = ({ from, gasUsed, effectiveGasPrice, l1Fee }: Receipt, { signers }: EvmNetwork): bigint =>
  signers.some((signer) => sameAddress(from, signer)) ? gasUsed * effectiveGasPrice + (l1Fee ?? 0n) : 0n

/** See `ChainNode.transactionStatus`. */
export async function transactionStatus(
  network: EvmNetwork,
  hash: string,
): Promise<TransactionStatus<EvmPayment>> {
  const located = await findTransaction(network, hash)
  if (located.status !== 'mined') return located
  const { receipt, isConfirmed } = located
  const succeeded = receipt.status === 1n
  const placeOf = (payment: EvmPayment, terms: Terms) =>
    succeeded ? transferMethodOf(payment).placeOf(receipt, payment, terms) : undefined
  return {
    status: 'mined',
    block: { number: receipt.blockNumber, hash: receipt.blockHash },
    isConfirmed,
    succeeded,
    fee: feeOf(receipt, network),
    settles: (payment, terms) => placeOf(payment, terms) !== undefined,
    placeOf,
    differs: (payment, terms) =>
      succeeded &&
      placeOf(payment, terms) === undefined &&
      transferMethodOf(payment).differs(receipt, payment, terms),
  }
}

/** See `ChainNode.includes`. */
export async function includes({ rpc }: EvmNetwork, { number, hash }: BlockId): Promise<boolean> {
  const block = await rpc.blockAt(number)
  if (block === undefined) throw new ChainUnavailable(`The node is behind block ${number}`)
  return block.hash === hash.toLowerCase()
}
