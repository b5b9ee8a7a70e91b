import { USDC_ADDRESS, usdcAbi } from '@tollgate/devnet'
import { Interface, JsonRpcProvider, type TransactionRequest } from 'ethers'
import { newSigner } from './chain'
import { type PaymentRequest } from './payment'

export const sendAuthorization = (rpcUrl: string, payment: PaymentRequest): Promise<string> =>
  send(rpcUrl, payment, {}, (sent) => sent.wait())

/** Sends the payer's authorization with higher fees than ours, and does not wait for the block. */
export const outbid = (rpcUrl: string, payment: PaymentRequest): Promise<string> =>
  send(rpcUrl, payment, { maxFeePerGas: 90_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n })

async function send(
  rpcUrl: string,
  { paymentPayload }: PaymentRequest,
  fees: Pick<TransactionRequest, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  until: (sent: { wait(): Promise<unknown> }) => Promise<unknown> = () => Promise.resolve(),
): Promise<string> {
  const provider = new JsonRpcProvider(rpcUrl, 84532, { staticNetwork: true, pollingInterval: 50 })
  const thirdParty = (await newSigner(rpcUrl)).connect(provider)
  const { signature, authorization } = paymentPayload.payload
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const data = new Interface([...usdcAbi]).encodeFunctionData(
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
    [from, to, value, validAfter, validBefore, nonce, signature],
  )
  const sent = await thirdParty.sendTransaction({ to: USDC_ADDRESS, data, gasLimit: 200_000, ...fees })
  await until(sent)
  provider.destroy()
  return sent.hash
}
