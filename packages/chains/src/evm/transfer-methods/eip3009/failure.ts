import { z } from 'zod'
import type { Terms } from '../../../family'
import { addressTopic } from '../../abi'
import { Data, hex, Log, Quantity, quantity, Receipt } from '../../rpc-schemas'
import { sameAddress } from '../../address'
import { nonceAt } from '../../observation/confirmations'
import { TRANSFER } from '../../tokens/erc20'
import type { EvmNetwork } from '../../network'
import { isSignedByKey } from '../../signing/signature'
import { calls, digestOf } from './authorization'
import { isSpentAt } from './payment-status'
import type { AuthorizedPayment } from './payment'

const Sent = z.object({
  to: hex(/^0x[0-9a-f]{40}$/i).nullable(),
  input: Data,
  gas: Quantity,
})

/**
 * See `ChainPayments.failsOnlyWhenMined`. A payer must not be able to cause this for a sound token: by a contract wallet, by
 * another payment in the transaction, by too little gas, or by moving its balance away before our transaction and back
 * after it. So the payer's account must have sent nothing in the block, and the block must have no transfer of the token
 * from or to payer or recipient.
 */
export async function failsOnlyWhenMined(
  network: EvmNetwork,
  hash: string,
  payment: AuthorizedPayment,
  terms: Terms,
): Promise<boolean> {
  const { rpc, chainId } = network
  const { payer, payTo } = payment
  const { asset } = terms.token
  if (!isSignedByKey(payment, digestOf(payment, terms.token, chainId))) return false
  const [receipt, sent] = await Promise.all([
    rpc.call(Receipt.nullable(), 'eth_getTransactionReceipt', [hash]),
    rpc.call(Sent.nullable(), 'eth_getTransactionByHash', [hash]),
  ])
  const data = calls.transfer(payment, true)
  if (receipt === null || sent === null || receipt.blockNumber === 0n) return false
  if (!sameAddress(sent.to ?? '', asset) || sent.input !== data.toLowerCase()) return false

  const block = receipt.blockNumber
  const before = block - 1n
  const parties = [payer, payTo].map(addressTopic)
  const transfers = (topics: unknown[]) =>
    rpc.call(z.array(Log), 'eth_getLogs', [
      { address: asset, topics: [TRANSFER, ...topics], fromBlock: quantity(block), toBlock: quantity(block) },
    ])
  const call = { from: receipt.from, to: asset, data, gas: quantity(sent.gas) }
  const simulated = (at: bigint) => rpc.run(Data, 'eth_call', [call, quantity(at)])
  const [code, nonceBefore, nonce, out, into, ...simulations] = await Promise.all([
    rpc.call(Data, 'eth_getCode', [payer, quantity(block)]),
    nonceAt(network, payer, before),
    nonceAt(network, payer, block),
    transfers([parties]),
    transfers([null, parties]),
    simulated(before),
    simulated(block),
  ])
  const isQuiet = code === '0x' && nonce === nonceBefore && out.length === 0 && into.length === 0
  return (
    isQuiet &&
    simulations.every((simulation) => 'value' in simulation) &&
    !(await isSpentAt(network, payment, terms, block))
  )
}
