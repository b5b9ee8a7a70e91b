import { encodeJson, type PaymentRequiredV2 } from '@tollgate/protocol'
import { hexlify, randomBytes, type Wallet } from 'ethers'

export const usdc = '0x036CbD53842c5426634e7929541eC2318f3dCF7e'

export const usdcDomain = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: usdc }

export const transferTypes = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

export type Authorization = Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>
export type SignedPayment = { signature: string; authorization: Authorization }

export async function signPayment(
  signer: Pick<Wallet, 'address' | 'signTypedData'>,
  terms: { payTo: string; amount: string },
  changes: Partial<Authorization> = {},
): Promise<SignedPayment> {
  const seconds = Math.floor(Date.now() / 1000)
  const authorization = {
    from: signer.address,
    to: terms.payTo,
    value: terms.amount,
    validAfter: String(seconds - 600),
    validBefore: String(seconds + 120),
    nonce: hexlify(randomBytes(32)),
    ...changes,
  }
  return { signature: await signer.signTypedData(usdcDomain, transferTypes, authorization), authorization }
}

export const x402 = (payload: SignedPayment) => ({
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  payload,
})

/** The payment in x402 version 2, for the offer in `PAYMENT-REQUIRED`. */
export const x402V2 = (payload: SignedPayment, { accepts, resource }: PaymentRequiredV2, changes = {}) => ({
  x402Version: 2,
  resource,
  accepted: { ...accepts[0], ...changes },
  payload,
})

export const paymentHeader = (payload: SignedPayment) => encodeJson(x402(payload))
