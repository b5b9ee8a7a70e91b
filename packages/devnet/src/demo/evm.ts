import { encodeJson, type PaymentRequired, type PricingPlan } from '@tollgate/protocol'
import { Wallet, getAddress, hexlify, id as keccakOf, randomBytes, zeroPadValue } from 'ethers'
import { fundWallet } from '../evm/deploy'
import { callRpc } from '../evm/rpc'
import { type DemoWallet } from './demo'

const MONEY = 1_000_000n
const TRANSFER = keccakOf('Transfer(address,address,uint256)')
const TRANSFER_WITH_AUTHORIZATION = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

/** A new EVM wallet with USDC and nothing for gas, which signs in by SIWE and pays by EIP-3009. */
export async function createEvmWallet(rpcUrl: string): Promise<DemoWallet> {
  const wallet = Wallet.createRandom()
  await fundWallet(rpcUrl, wallet.address, { usdc: MONEY })
  return {
    address: wallet.address,
    signIn: async (message) => ({ auth_method: 'siwe', signature: await wallet.signMessage(message) }),
    pay: (_, { body }) => signPayment(wallet, body as PaymentRequired),
    payload: { jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] },
    formatResult: (body) => `eth_blockNumber = ${Number((body as { result: string }).result)}`,
    check: (plan, transaction) => checkTransfer(rpcUrl, transaction, plan, wallet.address),
  }
}

/** https://eips.ethereum.org/EIPS/eip-3009 */
async function signPayment(
  wallet: { address: string; signTypedData: Wallet['signTypedData'] },
  { accepts, paymentRequirements }: PaymentRequired,
) {
  const [offer] = accepts ?? []
  if (!offer) throw new Error('The 402 offers no way to pay')
  const nonce = hexlify(randomBytes(32))
  const authorization = {
    from: wallet.address,
    to: getAddress(offer.payTo),
    value: offer.maxAmountRequired,
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1000) + offer.maxTimeoutSeconds),
    nonce,
  }
  const domain = {
    ...offer.extra,
    chainId: Number(paymentRequirements.network),
    verifyingContract: offer.asset,
  }
  const signature = await wallet.signTypedData(domain, TRANSFER_WITH_AUTHORIZATION, authorization)
  const { scheme, network } = offer
  const header = encodeJson({ x402Version: 1, scheme, network, payload: { signature, authorization } })
  return { header, signed: `EIP-3009 authorization ${nonce}` }
}

type ChainReceipt = { status: string; logs: { address: string; topics: string[]; data: string }[] }

async function checkTransfer(rpcUrl: string, transaction: string, plan: PricingPlan, payer: string) {
  const receipt = (await callRpc(rpcUrl, 'eth_getTransactionReceipt', transaction)) as ChainReceipt | null
  const moved = receipt?.logs.some(
    ({ address, topics, data }) =>
      getAddress(address) === getAddress(plan.asset_address) &&
      topics[0] === TRANSFER &&
      topics[1] === zeroPadValue(payer.toLowerCase(), 32) &&
      topics[2] === zeroPadValue(plan.pay_to.toLowerCase(), 32) &&
      BigInt(data) === BigInt(plan.amount),
  )
  if (receipt?.status !== '0x1' || !moved)
    throw new Error(`The chain does not show the payment in ${transaction}`)
  return `Transfer of exactly ${plan.amount} from the wallet to ${plan.pay_to}`
}
