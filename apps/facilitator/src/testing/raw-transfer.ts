import { USDC_ADDRESS, usdcAbi } from '@tollgate/devnet'
import { Interface, Transaction, Wallet, type BaseWallet, type TransactionLike } from 'ethers'
import { callRpc, newPayer } from './chain'
import { AMOUNT, paymentRequest, type PaymentRequest } from './payment'

export const GWEI = 1_000_000_000n
const ETHER = 10n ** 18n

const token = new Interface([...usdcAbi])
/** The default recipient of these payments. */
export const payTo = Wallet.createRandom().address
/** A call of the token. */
export const tokenCall = (name: string, ...args: unknown[]) => token.encodeFunctionData(name, args)
export const transfer = (to = payTo, amount = AMOUNT) => tokenCall('transfer', to, amount)

/** A wallet with money to pay, and with ether for its own gas. */
export async function newSender(rpcUrl: string): Promise<BaseWallet> {
  const payer = await newPayer(rpcUrl)
  await callRpc(rpcUrl, 'anvil_setBalance', payer.address, `0x${ETHER.toString(16)}`)
  return payer
}

/** A transfer of `AMOUNT` to `payTo`, unless the changes say otherwise; its tip is what others may have paid lately, and more. */
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

/** What makes it one of the first type. */
export const legacyFees = { type: 0, gasPrice: 25n * GWEI, maxFeePerGas: null, maxPriorityFeePerGas: null }

/** The same, signed, in hex. */
export function rawOf(payer: BaseWallet, changes: TransactionLike = {}): string {
  const transaction = transactionOf(changes)
  transaction.signature = payer.signingKey.sign(transaction.unsignedHash)
  return transaction.serialized
}

type Payload = PaymentRequest['paymentPayload']['payload']

/** The body of `/verify` and `/settle` that requires `AMOUNT` to `payTo`, by default, with this payload. */
export async function rawRequest(
  payload: string | object,
  requirements: { payTo?: string; maxAmountRequired?: string } = {},
): Promise<PaymentRequest> {
  const body = await paymentRequest(Wallet.createRandom(), { requirements: { payTo, ...requirements } })
  // Helpers know the payload of an authorization alone.
  return { ...body, paymentPayload: { ...body.paymentPayload, payload: payload as Payload } }
}
