import { type SigningKey, Transaction } from 'ethers'
import type { PendingPayment, OwnTransaction, Refusal, SignedTransaction } from '../../family'
import { Quantity, quantity } from '../rpc-schemas'
import { askPrice, covers, type Fees, feesAt, feesToReplace, isAmple, MOST_GAS } from './fees'
import type { SettlementCall } from '../transfer-methods/transfer-method'
import { aggregate3, MULTICALL3 } from './multicall'
import type { EvmNetwork } from '../network'
import { type EvmPayment, transferMethodOf } from '../transfer-methods/payment'

/** A quarter more: storage may have changed when the transaction is mined. */
const withMargin = (gas: bigint, most: bigint): bigint => (gas + gas / 4n < most ? gas + gas / 4n : most)

function signed(transaction: Transaction, key: SigningKey): SignedTransaction {
  transaction.signature = key.sign(transaction.unsignedHash)
  return { raw: transaction.serialized, hash: transaction.hash ?? '' }
}

type Plan = Omit<SettlementCall, 'isShareable'> & {
  /** The call whose gas is estimated. */
  estimated: string
  gasLimit: bigint
}

function plan(network: EvmNetwork, batch: readonly PendingPayment<EvmPayment>[]): Plan {
  const calls = batch.map(({ payment, terms }) => {
    const call = transferMethodOf(payment).call?.(network, payment, terms)
    if (call === undefined)
      throw new Error('A payment that is a transaction is sent as it is, and never signed')
    return call
  })
  const [first, ...others] = calls
  if (first === undefined) throw new Error('A batch holds at least one payment')
  const allowed = network.maxGas * BigInt(calls.length)
  const gasLimit = allowed < MOST_GAS ? allowed : MOST_GAS
  if (others.length === 0) return { ...first, estimated: first.data, gasLimit }
  return {
    to: MULTICALL3,
    data: aggregate3(calls, true),
    // With allowFailure a call that runs out of gas counts as failed, and the estimate would be too low.
    estimated: aggregate3(calls, false),
    notBefore: calls.reduce((latest, { notBefore }) => (notBefore > latest ? notBefore : latest), 0n),
    gasLimit,
  }
}

/** See `ChainSigner.sign`. Signs an EIP-1559 transaction. */
export async function signBatch(
  network: EvmNetwork,
  key: SigningKey,
  batch: readonly PendingPayment<EvmPayment>[],
  { signer, nonce }: { signer: string; nonce: bigint },
): Promise<OwnTransaction | Refusal> {
  const { rpc, chainId, maxFeePerGas: cap } = network
  const { to, data, estimated, notBefore, gasLimit: mostGas } = plan(network, batch)
  const estimate = (block: string) =>
    rpc.run(Quantity, 'eth_estimateGas', [
      { from: signer, to, data: estimated, gas: quantity(mostGas) },
      block,
    ])
  const [price, estimateNow] = await Promise.all([askPrice(network), estimate('latest')])
  // The newest block of an idle chain is old: the next block may accept a payment that is not yet valid in it.
  const gas =
    'reverted' in estimateNow && notBefore >= price.blockTime ? await estimate('pending') : estimateNow
  if ('reverted' in gas) return { reason: 'invalid_transaction_state', detail: gas.reverted }
  const fees = feesAt(price, cap)
  if (fees === undefined)
    return {
      reason: 'unexpected_settle_error',
      detail: `a base fee of ${price.baseFee} and a tip of ${price.tip} are past the cap of ${cap}`,
    }
  const gasLimit = withMargin(gas.value, mostGas)
  const transaction = Transaction.from({
    type: 2,
    chainId,
    to,
    data,
    nonce: Number(nonce),
    gasLimit,
    ...fees,
  })
  return { ...signed(transaction, key), cost: gasLimit * fees.maxFeePerGas }
}

/** See `ChainSigner.replace`; `key` is the signer's. */
export async function replace(
  network: EvmNetwork,
  key: SigningKey,
  { raw }: SignedTransaction,
  { signer, isOverdue }: { signer: string; isOverdue: boolean },
): Promise<OwnTransaction | undefined> {
  const transaction = Transaction.from(raw)
  const { from, maxFeePerGas, maxPriorityFeePerGas } = transaction
  if (from !== signer || maxFeePerGas === null || maxPriorityFeePerGas === null)
    throw new Error(`The transaction is none that ${signer} signed for a settlement`)
  const old: Fees = { maxFeePerGas, maxPriorityFeePerGas }
  const price = await askPrice(network)
  if (isOverdue ? isAmple(old, price) : covers(old, price)) return undefined
  const fees = feesToReplace(old, price, network.maxFeePerGas)
  if (fees === undefined) return undefined
  return {
    ...signed(Object.assign(transaction, fees), key),
    cost: transaction.gasLimit * fees.maxFeePerGas,
  }
}
