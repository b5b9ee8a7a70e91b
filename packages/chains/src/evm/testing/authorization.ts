import { hexlify, randomBytes, type TypedDataDomain, type Wallet } from 'ethers'
import type { Terms, Token } from '../../family'
import type { AuthorizedPayment } from '../eip3009/payment'
import { readPayment } from '../payment'

/** Base Sepolia's USDC, as the development chain has it. */
export const usdc: Token & { name: string; version: string } = {
  asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  symbol: 'USDC',
  decimals: 6,
  name: 'USDC',
  version: '2',
}

export const usdcDomain: TypedDataDomain = {
  name: usdc.name,
  version: usdc.version,
  chainId: 84532,
  verifyingContract: usdc.asset,
}

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

export type Authorization = {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
}

const inSeconds = (seconds: number): string => String(Math.floor(Date.now() / 1000) + seconds)

/** What a public client would sign for these terms, now, unless `changes` say otherwise. */
const authorizationFor = (
  from: string,
  { payTo, amount }: Pick<Terms, 'payTo' | 'amount'>,
  changes: Partial<Authorization> = {},
): Authorization => ({
  from,
  to: payTo,
  value: amount.toString(),
  validAfter: inSeconds(-600),
  validBefore: inSeconds(120),
  nonce: hexlify(randomBytes(32)),
  ...changes,
})

/** A signed payload, as x402 carries it. */
export async function signPayload(
  wallet: Pick<Wallet, 'address' | 'signTypedData'>,
  terms: Pick<Terms, 'payTo' | 'amount'>,
  changes: Partial<Authorization> = {},
  domain: TypedDataDomain = usdcDomain,
) {
  const authorization = authorizationFor(wallet.address, terms, changes)
  return { signature: await wallet.signTypedData(domain, transferTypes, authorization), authorization }
}

export function payment(payload: unknown): AuthorizedPayment {
  const read = readPayment(payload)
  if (read?.kind !== 'eip3009') throw new Error('The payload cannot be read')
  return read
}

export const signPayment = async (...of: Parameters<typeof signPayload>): Promise<AuthorizedPayment> =>
  payment(await signPayload(...of))
