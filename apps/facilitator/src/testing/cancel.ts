import { usdcAbi } from '@tollgate/devnet'
import { Interface, type BaseWallet } from 'ethers'
import { callRpc } from './chain'
import { members, usdcDomain, type PaymentRequest } from './payment'
import { GWEI, rawOf } from './raw-transfer'

export const aheadOfOurs = { maxFeePerGas: 90n * GWEI, maxPriorityFeePerGas: 50n * GWEI }

export async function cancellation(payer: BaseWallet, { paymentPayload }: PaymentRequest): Promise<string> {
  const { from: authorizer, nonce } = paymentPayload.payload.authorization
  const types = { CancelAuthorization: members('address authorizer, bytes32 nonce') }
  const signature = await payer.signTypedData(usdcDomain, types, { authorizer, nonce })
  return new Interface([...usdcAbi]).encodeFunctionData('cancelAuthorization(address,bytes32,bytes)', [
    authorizer,
    nonce,
    signature,
  ])
}

export async function cancelFirst(rpcUrl: string, payer: BaseWallet, payment: PaymentRequest): Promise<void> {
  await callRpc(rpcUrl, 'anvil_setBalance', payer.address, '0xde0b6b3a7640000')
  const data = await cancellation(payer, payment)
  await callRpc(rpcUrl, 'eth_sendRawTransaction', rawOf(payer, { data, gasLimit: 200_000, ...aheadOfOurs }))
}
