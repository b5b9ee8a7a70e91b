import { MethodMissing } from '../../../json-rpc/sender'
import { answeredWord } from '../../abi'
import { Data, Quantity, quantity } from '../../rpc-schemas'
import type { Case } from '../checks'
import { balanceCall } from '../../tokens/erc20'
import type { ChainState } from './checks'
import type { RawTransfer } from './payment'

type Answer<T> = { value: T } | { reverted: string }

/** Tokens return true, or nothing at all. */
function failureOf(estimate: Answer<bigint>, transfer: Answer<string>): string | undefined {
  if ('reverted' in transfer) return transfer.reverted
  if (transfer.value !== '0x' && answeredWord(transfer) !== 1n)
    return 'the asset does not say that it transfers'
  return 'reverted' in estimate ? estimate.reverted : undefined
}

/** One round trip. The asset's code runs with the payer's gas limit. */
export async function readChainState({ network: { rpc }, payment }: Case<RawTransfer>): Promise<ChainState> {
  const { payer: from, asset: to, data, accessList, gasLimit } = payment
  const call = { from, to, data, accessList, gas: quantity(gasLimit) }
  const transactionCount = (block: string) => rpc.call(Quantity, 'eth_getTransactionCount', [from, block])
  const suggestedTip = rpc.call(Quantity, 'eth_maxPriorityFeePerGas', []).catch((error: unknown) => {
    if (error instanceof MethodMissing) return 0n
    throw error
  })
  const [block, tip, mined, waiting, funds, balance, transfer, estimate] = await Promise.all([
    rpc.newestBlock(),
    suggestedTip,
    transactionCount('latest'),
    transactionCount('pending'),
    rpc.call(Quantity, 'eth_getBalance', [from, 'latest']),
    rpc.run(Data, 'eth_call', [{ to, data: balanceCall(from) }, 'latest']),
    rpc.run(Data, 'eth_call', [call, 'latest']),
    rpc.run(Quantity, 'eth_estimateGas', [call, 'latest']),
  ])
  return {
    baseFee: block.baseFeePerGas ?? 0n,
    tip,
    nonce: { mined, waiting },
    funds,
    balance: answeredWord(balance),
    failure: failureOf(estimate, transfer),
  }
}
