import { USDC_ADDRESS } from '@tollgate/devnet'
import { type PaymentRequirements } from '@tollgate/protocol'
import { hexlify, randomBytes, Wallet, type HDNodeWallet } from 'ethers'

export const AMOUNT = 10_000n

const domain = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: USDC_ADDRESS }
const types = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

type Authorization = Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>

export const inSeconds = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds)

/** What a public x402 client would send for `terms`, unless the changes say otherwise. */
async function signPayment(
  payer: HDNodeWallet,
  terms: Pick<PaymentRequirements, 'payTo' | 'maxAmountRequired'>,
  changes: Partial<Authorization> = {},
) {
  const authorization: Authorization = {
    from: payer.address,
    to: terms.payTo,
    value: terms.maxAmountRequired,
    validAfter: inSeconds(-60),
    validBefore: inSeconds(60),
    nonce: hexlify(randomBytes(32)),
    ...changes,
  }
  return { signature: await payer.signTypedData(domain, types, authorization), authorization }
}

const requirements = (changes: Partial<PaymentRequirements> = {}): PaymentRequirements => ({
  scheme: 'exact',
  network: 'base-sepolia',
  maxAmountRequired: AMOUNT.toString(),
  resource: 'https://shop.example/report',
  description: '',
  mimeType: '',
  payTo: Wallet.createRandom().address,
  maxTimeoutSeconds: 60,
  asset: USDC_ADDRESS,
  extra: { name: 'USDC', version: '2' },
  ...changes,
})

/** The body of `/verify` and `/settle` for a good payment. */
export async function paymentRequest(
  payer: HDNodeWallet,
  changes: { requirements?: Partial<PaymentRequirements>; authorization?: Partial<Authorization> } = {},
) {
  const paymentRequirements = requirements(changes.requirements)
  const payload = await signPayment(payer, paymentRequirements, changes.authorization)
  return {
    x402Version: 1,
    paymentPayload: { x402Version: 1, scheme: 'exact', network: 'base-sepolia', payload },
    paymentRequirements,
  }
}
export type PaymentRequest = Awaited<ReturnType<typeof paymentRequest>>

/** The same payment as a client and a resource server of x402 version 2 would send it. */
export function inVersion2({ paymentPayload, paymentRequirements }: PaymentRequest) {
  const { maxAmountRequired, asset, payTo, maxTimeoutSeconds, resource, extra } = paymentRequirements
  const network = 'eip155:84532'
  const required = {
    scheme: 'exact',
    network,
    amount: maxAmountRequired,
    asset,
    payTo,
    maxTimeoutSeconds,
    extra,
  }
  return {
    x402Version: 2,
    paymentPayload: {
      x402Version: 2,
      resource: { url: resource, description: '', mimeType: '' },
      accepted: { ...required },
      payload: paymentPayload.payload,
    },
    paymentRequirements: { ...required },
  }
}
export type PaymentRequestV2 = ReturnType<typeof inVersion2>
