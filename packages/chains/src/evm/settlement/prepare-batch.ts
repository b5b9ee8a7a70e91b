import { Transaction } from 'ethers'
import type {
  OwnTransaction,
  PendingPayment,
  Refusal,
  SignedTransaction,
  UnsignedTransaction,
} from '../../family'
import { Data, Quantity, quantity } from '../rpc-schemas'
import { MOST_GAS, withMargin } from './gas-model'
import { encodeUnsigned, signTransaction } from './signed-transaction'
import { askPrice, covers, type Fees, feesAt, feesToReplace, isAmple } from './fees'
import type { SettlementCall } from '../transfer-methods/transfer-method'
import { deployAndCall } from './deployment'
import { aggregate3, MULTICALL3 } from './multicall'
import type { Signer } from '../../signers/signer'
import type { EvmNetwork } from '../network'
import { type EvmPayment, transferMethodOf } from '../transfer-methods/payment'

type Plan = Pick<SettlementCall, 'to' | 'data' | 'notBefore'> & {
  /** The call whose gas is estimated. */
  estimated: string
  gasLimit: bigint
}

async function plan(network: EvmNetwork, batch: readonly PendingPayment<EvmPayment>[]): Promise<Plan> {
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
  if (others.length === 0) {
    const { to, data } = await withDeployment(network, first)
    return { to, data, estimated: data, notBefore: first.notBefore, gasLimit }
  }
  return {
    to: MULTICALL3,
    data: aggregate3(calls, true),
    // With allowFailure a call that runs out of gas counts as failed, and the estimate would be too low.
    estimated: aggregate3(calls, false),
    notBefore: calls.reduce((latest, { notBefore }) => (notBefore > latest ? notBefore : latest), 0n),
    gasLimit,
  }
}

async function withDeployment(
  { rpc }: EvmNetwork,
  { deployment, ...call }: SettlementCall,
): Promise<Pick<SettlementCall, 'to' | 'data'>> {
  if (deployment === undefined) return call
  const code = await rpc.call(Data, 'eth_getCode', [deployment.wallet, 'latest'])
  return code === '0x' ? deployAndCall(deployment, call) : call
}

/** See `ChainSigner.prepare`. */
export async function prepareBatch(
  network: EvmNetwork,
  batch: readonly PendingPayment<EvmPayment>[],
  { signer, nonce }: { signer: string; nonce: bigint },
): Promise<UnsignedTransaction | Refusal> {
  const { chainId, maxFeePerGas: cap } = network
  const planned = await plan(network, batch)
  const [price, gas] = await Promise.all([askPrice(network), gasOf(network, planned, batch, signer)])
  if ('reverted' in gas) return { reason: 'invalid_transaction_state', detail: gas.reverted }
  const fees = feesAt(price, cap)
  if (fees === undefined)
    return {
      reason: 'unexpected_settle_error',
      detail: `a base fee of ${price.baseFee} wei and a tip of ${price.tip} wei are past the cap of ${cap} wei`,
    }
  const gasLimit = withMargin(gas.value, planned.gasLimit)
  const { to, data } = planned
  const bytes = encodeUnsigned({ chainId: BigInt(chainId), to, data, nonce, gasLimit, ...fees })
  return { signer, bytes, cost: gasLimit * fees.maxFeePerGas }
}

type Gas = Awaited<ReturnType<typeof estimateGas>>

/**
 * For a batch the gas that its asset's payments lately needed, if the whole batch succeeds with it: one execution, where an
 * estimate takes about ten.
 */
async function gasOf(
  network: EvmNetwork,
  planned: Plan,
  batch: readonly PendingPayment<EvmPayment>[],
  signer: string,
): Promise<Gas> {
  const { rpc, gasModel } = network
  const asset = batch[0]?.terms.token.asset ?? ''
  const expected = batch.length > 1 ? gasModel.expected(asset, batch.length) : undefined
  if (expected !== undefined && expected < planned.gasLimit) {
    const call = { from: signer, to: planned.to, data: planned.estimated, gas: quantity(expected) }
    const simulated = await rpc.run(Data, 'eth_call', [call, 'latest'])
    if ('value' in simulated) return { value: expected }
  }
  const gas = await estimateGas(network, planned, signer)
  if ('value' in gas && batch.length > 1) gasModel.learn(asset, batch.length, gas.value)
  return gas
}

async function estimateGas(
  network: EvmNetwork,
  { to, estimated, notBefore, gasLimit }: Plan,
  signer: string,
) {
  const { rpc } = network
  const call = { from: signer, to, data: estimated, gas: quantity(gasLimit) }
  const estimate = (block: 'latest' | 'pending') => rpc.run(Quantity, 'eth_estimateGas', [call, block])
  const [{ timestamp }, gas] = await Promise.all([rpc.newestBlock(), estimate('latest')])
  // The newest block of an idle chain is old: the next block may accept a payment that is not yet valid in it.
  return 'reverted' in gas && notBefore >= timestamp ? estimate('pending') : gas
}

/** See `ChainSigner.replace`. */
export async function replace(
  network: EvmNetwork,
  signer: Signer,
  { raw }: SignedTransaction,
  { isOverdue }: { isOverdue: boolean },
): Promise<OwnTransaction | undefined> {
  const transaction = Transaction.from(raw)
  const { from, to, maxFeePerGas, maxPriorityFeePerGas } = transaction
  if (from !== signer.address || to === null || maxFeePerGas === null || maxPriorityFeePerGas === null)
    throw new Error(`The transaction is none that ${signer.address} signed for a settlement`)
  const old: Fees = { maxFeePerGas, maxPriorityFeePerGas }
  const price = await askPrice(network)
  if (isOverdue ? isAmple(old, price) : covers(old, price)) return undefined
  const fees = feesToReplace(old, price, network.maxFeePerGas)
  if (fees === undefined) return undefined
  const { chainId, nonce, gasLimit, data } = transaction
  const version = encodeUnsigned({ chainId, to, data, nonce: BigInt(nonce), gasLimit, ...fees })
  return { ...(await signTransaction(version, signer)), cost: gasLimit * fees.maxFeePerGas }
}
