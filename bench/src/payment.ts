import { randomBytes } from 'node:crypto'
import { type Wallet } from 'ethers'
import { type World } from './world'

const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
}

/** An x402 payment by EIP-3009 for the plan; `isGarbage` gives it a signature of random bytes. */
export async function signPayment(
  { plan }: Pick<World, 'plan'>,
  wallet: Wallet,
  { isGarbage = false }: { isGarbage?: boolean } = {},
) {
  const seconds = Math.floor(Date.now() / 1000)
  const authorization = {
    from: wallet.address,
    to: plan.pay_to,
    value: plan.amount,
    validAfter: String(seconds - 600),
    validBefore: String(seconds + 600),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  }
  const domain = {
    name: plan.asset_name,
    version: plan.asset_version,
    chainId: Number(plan.chain_id),
    verifyingContract: plan.asset_address,
  }
  const signature = isGarbage
    ? `0x${randomBytes(64).toString('hex')}1b`
    : await wallet.signTypedData(domain, TYPES, authorization)
  return { x402Version: 1, scheme: 'exact', network: plan.network, payload: { signature, authorization } }
}
