import { USDC_ADDRESS } from '@tollgate/devnet'
import { type PaymentRequirements } from '@tollgate/protocol'
import { hexlify, randomBytes, Wallet, type BaseWallet, type TypedDataField } from 'ethers'

export const AMOUNT = 10_000n

export const usdcDomain = { name: 'USDC', version: '2', chainId: 84532, verifyingContract: USDC_ADDRESS }

export const transferTypes = {
  TransferWithAuthorization: members(
    'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce',
  ),
}

type Authorization = Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>

export type Payer = Pick<BaseWallet, 'address' | 'signTypedData'>

export const inSeconds = (seconds: number) => String(Math.floor(Date.now() / 1000) + seconds)

async function signPayment(
  payer: Payer,
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
  return { signature: await payer.signTypedData(usdcDomain, transferTypes, authorization), authorization }
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

export async function paymentRequest(
  payer: Payer,
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

export function members(type: string): TypedDataField[] {
  const words = type.split(', ').map((member) => member.split(' '))
  return words.map(([of = '', name = '']) => ({ name, type: of }))
}
