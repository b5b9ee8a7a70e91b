import { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { requireFrom } from './borrowed.mjs'
import { developmentPayTo, developmentWallets, USDC_ADDRESS } from '../../packages/devnet/dist/index.js'
import {
  authorizationDigest,
  domainSeparator,
} from '../../packages/chains/dist/evm/transfer-methods/eip3009/authorization.js'

const secp256k1 = requireFrom('packages/chains')('secp256k1')

export const NETWORK = { name: 'base-sepolia', ecosystem: 'evm', chain_id: '84532' }
const AMOUNT = '10000'
const separator = domainSeparator('USDC', '2', NETWORK.chain_id, USDC_ADDRESS)

const paymentRequirements = {
  scheme: 'exact',
  network: NETWORK.name,
  maxAmountRequired: AMOUNT,
  resource: 'https://shop.example/weather',
  description: 'The weather, now',
  mimeType: 'application/json',
  payTo: developmentPayTo.address,
  maxTimeoutSeconds: 60,
  asset: USDC_ADDRESS,
  extra: { name: 'USDC', version: '2' },
}

export function signPayments(count) {
  const validBefore = String(Math.floor(Date.now() / 1000) + 3600)
  return Array.from({ length: count }, (_, i) =>
    signPayment(developmentWallets[i % developmentWallets.length], validBefore),
  )
}

/** Native code, because signing with ethers would take longer than the rest of the bench. */
function signPayment(wallet, validBefore) {
  const authorization = {
    from: wallet.address,
    to: paymentRequirements.payTo,
    value: AMOUNT,
    validAfter: '0',
    validBefore,
    nonce: `0x${randomBytes(32).toString('hex')}`,
  }
  const digest = authorizationDigest(
    {
      payer: authorization.from,
      payTo: authorization.to,
      amount: BigInt(AMOUNT),
      validAfter: 0n,
      validBefore: BigInt(validBefore),
      nonce: authorization.nonce,
    },
    separator,
  )
  const { signature, recid } = secp256k1.ecdsaSign(digest, Buffer.from(wallet.privateKey.slice(2), 'hex'))
  const payload = {
    signature: `0x${Buffer.from(signature).toString('hex')}${(27 + recid).toString(16)}`,
    authorization,
  }
  return JSON.stringify({
    x402Version: 1,
    paymentPayload: { x402Version: 1, scheme: 'exact', network: NETWORK.name, payload },
    paymentRequirements,
  })
}
