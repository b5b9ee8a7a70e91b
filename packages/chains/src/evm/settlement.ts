import { type SigningKey, Transaction as EthersTransaction } from 'ethers'
import {
  ChainUnavailable,
  type NetworkSettings,
  type Refusal,
  type SignedTransaction,
  TransactionRejected,
} from '../family'
import { Block, Hash, Quantity, quantity, Transaction } from './answers'
import { type Rpc, RpcError } from './rpc'

type Limits = Pick<NetworkSettings, 'name' | 'chainId' | 'maxGas' | 'maxFeePerGas'>

/** Twice the base fee lasts six full blocks in a row; a fee past the cap is paid by nobody. */
function feesNow(baseFee: bigint, tip: bigint, cap: bigint) {
  if (baseFee + tip > cap) return undefined
  const roomy = 2n * baseFee + tip
  return { maxFeePerGas: roomy < cap ? roomy : cap, maxPriorityFeePerGas: tip }
}

/** Storage may be in another state when the transaction is mined. */
const withMargin = (gas: bigint, most: bigint): bigint => (gas + gas / 4n < most ? gas + gas / 4n : most)

/**
 * Signs an EIP-1559 transaction that makes this call of `to`; nothing is sent. Refuses where the call would fail, needs
 * more gas than allowed, or the network's fees are past the cap. `notBefore` (Unix seconds) tells a call that is only early.
 */
export async function signCall(
  rpc: Rpc,
  limits: Limits,
  key: SigningKey,
  {
    from,
    to,
    data,
    nonce,
    notBefore,
  }: { from: string; to: string; data: string; nonce: bigint; notBefore: bigint },
): Promise<SignedTransaction | Refusal> {
  const { name, chainId, maxGas, maxFeePerGas: cap } = limits
  const estimate = (block: string) =>
    rpc.run(Quantity, 'eth_estimateGas', [{ from, to, data, gas: quantity(maxGas) }, block])
  const [block, tip, firstEstimate] = await Promise.all([
    rpc.call(Block, 'eth_getBlockByNumber', ['latest', false]),
    rpc.call(Quantity, 'eth_maxPriorityFeePerGas', []),
    estimate('latest'),
  ])
  const gas =
    'reverted' in firstEstimate && notBefore >= block.timestamp ? await estimate('pending') : firstEstimate
  if ('reverted' in gas) return { reason: 'invalid_transaction_state', detail: gas.reverted }
  if (block.baseFeePerGas === undefined) throw new ChainUnavailable(`${name} names no base fee (EIP-1559)`)
  const fees = feesNow(block.baseFeePerGas, tip, cap)
  if (fees === undefined)
    return {
      reason: 'unexpected_settle_error',
      detail: `a base fee of ${block.baseFeePerGas} and a tip of ${tip} are past the cap of ${cap}`,
    }

  const transaction = EthersTransaction.from({
    type: 2,
    chainId,
    to,
    data,
    nonce: Number(nonce),
    gasLimit: withMargin(gas.value, maxGas),
    ...fees,
  })
  transaction.signature = key.sign(transaction.unsignedHash)
  return { raw: transaction.serialized, hash: transaction.hash ?? '' }
}

const alreadyThere = /already known|already imported|known transaction|already exists/i
/** What more time would not change, the words of geth, anvil and their kin. */
const forGood =
  /nonce too low|insufficient funds|intrinsic gas|gas limit|underpriced|less than block base fee|fee cap|invalid (sender|chain)|not supported/i

/** Whether the node has the transaction, mined or waiting. */
const knows = async (rpc: Rpc, hash: string): Promise<boolean> =>
  (await rpc.call(Transaction.nullable(), 'eth_getTransactionByHash', [hash]))?.hash === hash

/**
 * Sends a signed transaction; one that the node has already is no error.
 * Rejects with `TransactionRejected` where the node will not take it, with `ChainUnavailable` where that is not known.
 */
export async function broadcast(rpc: Rpc, { raw, hash }: SignedTransaction): Promise<void> {
  try {
    await rpc.ask(Hash, 'eth_sendRawTransaction', [raw])
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    if (alreadyThere.test(error.message) || (await knows(rpc, hash))) return
    const Problem = forGood.test(error.message) ? TransactionRejected : ChainUnavailable
    throw new Problem(`The node does not take ${hash}: ${error.message}`, { cause: error })
  }
}
