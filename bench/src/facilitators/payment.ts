import { randomBytes } from 'node:crypto'
import { concat, keccak256, TypedDataEncoder, type Wallet } from 'ethers'
import { CHAIN_ID, type PaymentChain } from './chain'

const AMOUNT = '1000'
const LIFE_SECONDS = 3_600
const encoder = TypedDataEncoder.from({
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
})

/** Bodies of `/verify` and `/settle` of x402 version 2: payments by EIP-3009, one of each payer in turn. */
export function signPayments({ asset, payTo, payers }: PaymentChain, count: number): string[] {
  const extra = { name: 'USDC', version: '2' }
  const domain = TypedDataEncoder.hashDomain({ ...extra, chainId: CHAIN_ID, verifyingContract: asset })
  const paymentRequirements = {
    scheme: 'exact',
    network: `eip155:${CHAIN_ID}`,
    amount: AMOUNT,
    asset,
    payTo,
    maxTimeoutSeconds: 300,
    extra,
  }
  const resource = {
    url: 'https://merchant.example/weather',
    description: 'The weather',
    mimeType: 'application/json',
  }
  const validBefore = String(Math.floor(Date.now() / 1000) + LIFE_SECONDS)

  function sign(payer: Wallet): string {
    const authorization = {
      from: payer.address,
      to: payTo,
      value: AMOUNT,
      validAfter: '0',
      validBefore,
      nonce: `0x${randomBytes(32).toString('hex')}`,
    }
    const { serialized: signature } = payer.signingKey.sign(digest(domain, encoder.hash(authorization)))
    const payload = { signature, authorization }
    const paymentPayload = { x402Version: 2, resource, accepted: paymentRequirements, payload }
    return JSON.stringify({ x402Version: 2, paymentPayload, paymentRequirements })
  }

  return Array.from({ length: count }, (_, index) => {
    const payer = payers[index % payers.length]
    if (!payer) throw new Error('There are no payers')
    return sign(payer)
  })
}

const digest = (domain: string, message: string) => keccak256(concat(['0x1901', domain, message]))
