import { type AccessList, Transaction } from 'ethers'
import { z } from 'zod'
import type { Payment, SignedTransaction } from '../../../family'
import { parseAddress } from '../../address'
import { hex } from '../../rpc-schemas'
import type { Fees } from '../../settlement/fees'
import { recoverSigner } from '../../signing/signature'

/** An ERC-20 transfer that its payer signed as a whole transaction. It is broadcast unchanged, and the payer pays its gas. */
export type RawTransfer = Payment &
  Fees & {
    kind: 'rawTransfer'
    transaction: SignedTransaction
    chainId: bigint
    /** The contract that the transaction calls. */
    asset: string
    data: string
    accountNonce: bigint
    gasLimit: bigint
    accessList: AccessList
  }

/** A transfer takes about 180 bytes; this leaves room for a small access list. */
const MAX_BYTES = 1_024

const Payload = z.object({
  type: z.enum(['raw_tx', 'rawTx']).optional(),
  rawTx: hex(new RegExp(`^0x(?:[0-9a-f]{2}){1,${MAX_BYTES}}$`, 'i')),
})

/** Legacy, EIP-2930 and EIP-1559. Later types carry blobs or delegate accounts. */
const types: readonly (number | null)[] = [0, 1, 2]

/** The canonical encoding of `transfer(address,uint256)`: no extra bytes, zero padding. */
const transferCall = /^0xa9059cbb0{24}([0-9a-f]{40})([0-9a-f]{64})$/

/** Undefined unless `raw` is the canonical encoding, so that one payment has one spelling. */
function decode(raw: string): Transaction | undefined {
  try {
    const transaction = Transaction.from(raw)
    return transaction.serialized === raw ? transaction : undefined
  } catch {
    return undefined
  }
}

/** Undefined for a high-s signature, which a third party can derive from the payer's. */
function signerOf({ signature, unsignedHash }: Transaction): string | undefined {
  if (signature === null) return undefined
  const { r, _s: s, v } = signature
  const address = recoverSigner(
    Buffer.from(unsignedHash.slice(2), 'hex'),
    `${r}${s.slice(2)}${v.toString(16)}`,
  )
  return address && parseAddress(address)
}

/**
 * Parses `{ rawTx }`, optionally with `type` `raw_tx` or `rawTx`: a signed transaction that makes exactly one ERC-20
 * `transfer` on one chain (EIP-155). Undefined for anything else.
 */
export function readRawTransfer(payload: unknown): RawTransfer | undefined {
  const { data: read } = Payload.safeParse(payload)
  const transaction = read && decode(read.rawTx)
  if (transaction === undefined) return undefined
  const { type, to, value, data, chainId, nonce, hash, gasLimit, gasPrice, accessList } = transaction
  const maxFeePerGas = transaction.maxFeePerGas ?? gasPrice
  const maxPriorityFeePerGas = transaction.maxPriorityFeePerGas ?? gasPrice
  const payer = signerOf(transaction)
  const [, recipient, amount] = transferCall.exec(data) ?? []
  const payTo = recipient && parseAddress(`0x${recipient}`)
  if (
    !types.includes(type) ||
    chainId === 0n ||
    to === null ||
    value !== 0n ||
    hash === null ||
    payer === undefined ||
    !payTo ||
    maxFeePerGas === null ||
    maxPriorityFeePerGas === null
  )
    return undefined
  return {
    kind: 'rawTransfer',
    payer,
    payTo,
    amount: BigInt(`0x${amount}`),
    // Differs from every EIP-3009 nonce.
    nonce: `account-nonce ${nonce}`,
    transaction: { raw: transaction.serialized, hash },
    chainId,
    asset: to,
    data,
    accountNonce: BigInt(nonce),
    gasLimit,
    maxFeePerGas,
    maxPriorityFeePerGas,
    accessList: accessList ?? [],
  }
}
