import { USDC_ADDRESS, usdcAbi } from '@tollgate/devnet'
import { Interface, JsonRpcProvider } from 'ethers'
import { newSigner } from './chain'
import { type PaymentRequest } from './payment'

/** Sends the payer's authorization as anybody might who saw it, and resolves to the transaction once it is mined. */
export async function sendAuthorization(rpcUrl: string, { paymentPayload }: PaymentRequest): Promise<string> {
  const provider = new JsonRpcProvider(rpcUrl, 84532, { staticNetwork: true, pollingInterval: 50 })
  const stranger = (await newSigner(rpcUrl)).connect(provider)
  const { signature, authorization } = paymentPayload.payload
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const data = new Interface([...usdcAbi]).encodeFunctionData(
    'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)',
    [from, to, value, validAfter, validBefore, nonce, signature],
  )
  const sent = await stranger.sendTransaction({ to: USDC_ADDRESS, data })
  await sent.wait()
  provider.destroy()
  return sent.hash
}
