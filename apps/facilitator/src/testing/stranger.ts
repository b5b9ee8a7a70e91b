import { USDC_ADDRESS, usdcAbi } from '@tollgate/devnet'
import { Interface, JsonRpcProvider, type TransactionRequest } from 'ethers'
import { newSigner } from './chain'
import { type PaymentRequest } from './payment'

/** Sends the payer's authorization as anybody might who saw it, and resolves to the transaction once it is mined. */
export const sendAuthorization = (rpcUrl: string, payment: PaymentRequest): Promise<string> =>
  send(rpcUrl, payment, {}, (sent) => sent.wait())

/** Offers the payer's authorization for more than we pay, so that it comes first in the next block; it is not mined yet. */
export const outbid = (rpcUrl: string, payment: PaymentRequest): Promise<string> =>
  send(rpcUrl, payment, { maxFeePerGas: 90_000_000_000n, maxPriorityFeePerGas: 50_000_000_000n })

async function send(
  rpcUrl: string,
  { paymentPayload }: PaymentRequest,
  fees: Pick<TransactionRequest, 'maxFeePerGas' | 'maxPriorityFeePerGas'>,
  until: (sent: { wait(): Promise<unknown> }) => Promise<unknown> = () => Promise.resolve(),
): Promise<string> {
  const provider = new JsonRpcProvider(rpcUrl, 84532, { staticNetwork: true, pollingInterval: 50 })
  const stranger = (await newSigner(rpcUrl)).connect(provider)
  const { signature, authorization } = paymentPayload.payload
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const data = new Interface([...usdcAbi]).encodeFunctionData(
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
    [from, to, value, validAfter, validBefore, nonce, signature],
  )
  const sent = await stranger.sendTransaction({ to: USDC_ADDRESS, data, gasLimit: 200_000, ...fees })
  await until(sent)
  provider.destroy()
  return sent.hash
}
