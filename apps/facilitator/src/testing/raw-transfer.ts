import { USDC_ADDRESS, usdcAbi } from '@tollgate/devnet'
import { Interface, Transaction, Wallet, type BaseWallet, type TransactionLike } from 'ethers'
import { callRpc, newPayer } from './chain'
import { AMOUNT, paymentRequest, type PaymentRequest } from './payment'

export const GWEI = 1_000_000_000n
const ETHER = 10n ** 18n

const token = new Interface([...usdcAbi])
export const payTo = Wallet.createRandom().address
export const tokenCall = (name: string, ...args: unknown[]) => token.encodeFunctionData(name, args)
export const transfer = (to = payTo, amount = AMOUNT) => tokenCall('transfer', to, amount)

export async function newSender(rpcUrl: string): Promise<BaseWallet> {
  const payer = await newPayer(rpcUrl)
  await callRpc(rpcUrl, 'anvil_setBalance', payer.address, `0x${ETHER.toString(16)}`)
  return payer
}

export const transactionOf = (changes: TransactionLike = {}) =>
  Transaction.from({
    type: 2,
    chainId: 84532,
    nonce: 0,
    to: USDC_ADDRESS,
    data: transfer(),
    gasLimit: 100_000,
    maxFeePerGas: 60n * GWEI,
    maxPriorityFeePerGas: 20n * GWEI,
    ...changes,
  })

export const legacyFees = { type: 0, gasPrice: 25n * GWEI, maxFeePerGas: null, maxPriorityFeePerGas: null }

export function rawOf(payer: BaseWallet, changes: TransactionLike = {}): string {
  const transaction = transactionOf(changes)
  transaction.signature = payer.signingKey.sign(transaction.unsignedHash)
  return transaction.serialized
}

type Payload = PaymentRequest['paymentPayload']['payload']

export async function rawRequest(
  payload: string | object,
  requirements: { payTo?: string; maxAmountRequired?: string } = {},
): Promise<PaymentRequest> {
  const body = await paymentRequest(Wallet.createRandom(), { requirements: { payTo, ...requirements } })
  // The helpers' type is the payload of an authorization.
  return { ...body, paymentPayload: { ...body.paymentPayload, payload: payload as Payload } }
}
