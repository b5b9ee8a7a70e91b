import { StargateClient } from '@cosmjs/stargate'
import { COSMOS_CHAIN_ID } from '@tollgate/cosmos-devchain'
import { X402_PERMIT2_PROXY_ADDRESS } from '@tollgate/devnet'
import { Interface, JsonRpcProvider } from 'ethers'
import { callRpc, newPayer, newSigner } from './chain'
import { cosmosRequest, newCosmosWallet } from './cosmos'
import { hashOf, txOf } from './forged-cosmos'
import { paymentRequest } from './payment'
import { byPermit2 } from './permit2'
import { newSender, rawOf, rawRequest, transfer } from './raw-transfer'
import { sendAuthorization } from './third-party'

/** A request for a payment, and its payment on chain: `make` resolves to the hash once it is mined. */
export type MadePayment = {
  network: string
  version: 'v1' | 'v2'
  payTo: string
  body: object
  make: () => Promise<string>
}

/** A third party sends it. */
export async function byAuthorization(rpcUrl: string): Promise<MadePayment> {
  const body = await paymentRequest(await newPayer(rpcUrl))
  const { payTo } = body.paymentRequirements
  return {
    network: 'base-sepolia',
    version: 'v1',
    payTo,
    body,
    make: () => sendAuthorization(rpcUrl, body),
  }
}

export async function byRawTransfer(rpcUrl: string, payTo: string): Promise<MadePayment> {
  const raw = rawOf(await newSender(rpcUrl), { data: transfer(payTo) })
  const body = await rawRequest({ rawTx: raw }, { payTo })
  const make = async () => {
    const receipt = await callRpc(rpcUrl, 'eth_sendRawTransactionSync', raw)
    return (receipt as { transactionHash: string }).transactionHash
  }
  return { network: 'base-sepolia', version: 'v1', payTo, body, make }
}

const settleWithPermit = new Interface([
  `function settleWithPermit(
    (uint256 value, uint256 deadline, bytes32 r, bytes32 s, uint8 v) permit2612,
    ((address token, uint256 amount) permitted, uint256 nonce, uint256 deadline) permit,
    address owner, (address to, uint256 validAfter) witness, bytes signature)`,
])

/** Somebody sends it to the proxy, with the payer's permit for the token. */
export async function byPermitOfPayer(rpcUrl: string): Promise<MadePayment> {
  const payer = await newPayer(rpcUrl)
  const body = await byPermit2(payer, await paymentRequest(payer))
  const { payload, extensions } = body.paymentPayload
  const { permit2Authorization: signed, signature } = payload
  const { info } = extensions.eip2612GasSponsoring
  const make = async () => {
    const provider = new JsonRpcProvider(rpcUrl, 84532, { staticNetwork: true, pollingInterval: 50 })
    const sender = (await newSigner(rpcUrl)).connect(provider)
    const rest = info.signature.slice(2)
    const permit = [
      info.amount,
      info.deadline,
      `0x${rest.slice(0, 64)}`,
      `0x${rest.slice(64, 128)}`,
      `0x${rest.slice(128)}`,
    ]
    const { permitted, nonce, deadline, witness } = signed
    const data = settleWithPermit.encodeFunctionData('settleWithPermit', [
      permit,
      [[permitted.token, permitted.amount], nonce, deadline],
      payer.address,
      [witness.to, witness.validAfter],
      signature,
    ])
    const sent = await sender.sendTransaction({ to: X402_PERMIT2_PROXY_ADDRESS, data, gasLimit: 400_000 })
    await sent.wait()
    provider.destroy()
    return sent.hash
  }
  return { network: 'base-sepolia', version: 'v2', payTo: body.paymentRequirements.payTo, body, make }
}

export async function byBankSend(rpcUrl: string): Promise<MadePayment> {
  const payer = await newCosmosWallet(rpcUrl, 1_000_000n)
  const body = await cosmosRequest(rpcUrl, payer)
  const tx = txOf(body)
  const make = async () => {
    const chain = await StargateClient.connect(rpcUrl)
    await chain.broadcastTx(tx, 20_000, 20)
    chain.disconnect()
    return hashOf(tx)
  }
  return { network: COSMOS_CHAIN_ID, version: 'v1', payTo: body.paymentRequirements.payTo, body, make }
}
