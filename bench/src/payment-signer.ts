import { randomBytes } from 'node:crypto'
import { transferTypes } from '@tollgate/gateway/dist/testing/payment'
import { concat, keccak256, TypedDataEncoder, type Wallet } from 'ethers'
import { type World } from './world'

export type PaymentTerms = Pick<
  World['plan'],
  'network' | 'chain_id' | 'asset_address' | 'asset_name' | 'asset_version' | 'pay_to' | 'amount'
>

/** Longer than any benchmark uses a payment. */
const LIFE_SECONDS = 3_600
const encoder = TypedDataEncoder.from(transferTypes)
const merchant = { description: 'The weather', mimeType: 'application/json' }
const RESOURCE_URL = 'https://merchant.example/weather'

/** Payments by EIP-3009, each with a nonce of its own, and the bodies of `/verify` and `/settle` for them. */
export function createPaymentSigner(terms: PaymentTerms) {
  const { network, chain_id: chainId, asset_address: asset, pay_to: payTo, amount } = terms
  const extra = { name: terms.asset_name, version: terms.asset_version }
  const domain = TypedDataEncoder.hashDomain({ ...extra, chainId, verifyingContract: asset })
  const shared = { scheme: 'exact', asset, payTo, maxTimeoutSeconds: 300, extra }

  const requirementsV1 = {
    ...shared,
    ...merchant,
    network,
    maxAmountRequired: amount,
    resource: RESOURCE_URL,
  }
  const requirementsV2 = { ...shared, network: `eip155:${chainId}`, amount }
  const resourceV2 = { ...merchant, url: RESOURCE_URL }

  function authorize(payer: Wallet, isGarbage = false) {
    const authorization = {
      from: payer.address,
      to: payTo,
      value: amount,
      validAfter: '0',
      validBefore: String(Math.floor(Date.now() / 1000) + LIFE_SECONDS),
      nonce: `0x${randomBytes(32).toString('hex')}`,
    }
    if (isGarbage) return { signature: `0x${randomBytes(64).toString('hex')}1b`, authorization }
    const digest = keccak256(concat(['0x1901', domain, encoder.hash(authorization)]))
    return { signature: payer.signingKey.sign(digest).serialized, authorization }
  }

  /** In x402 version 1. `isGarbage` gives it a signature of random bytes. */
  const sign = (payer: Wallet, { isGarbage = false } = {}) => ({
    x402Version: 1,
    scheme: 'exact',
    network,
    payload: authorize(payer, isGarbage),
  })

  return {
    sign,
    bodyV1: (payer: Wallet): string =>
      JSON.stringify({ x402Version: 1, paymentPayload: sign(payer), paymentRequirements: requirementsV1 }),
    bodyV2: (payer: Wallet): string => {
      const paymentPayload = {
        x402Version: 2,
        resource: resourceV2,
        accepted: requirementsV2,
        payload: authorize(payer),
      }
      return JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements: requirementsV2 })
    },
  }
}
