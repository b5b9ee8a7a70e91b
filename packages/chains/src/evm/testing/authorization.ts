import { hexlify, randomBytes, type TypedDataDomain, type TypedDataField, type Wallet } from 'ethers'
import type { Terms, Token } from '../../family'
import type { AuthorizedPayment } from '../transfer-methods/eip3009/payment'
import { readPayment } from '../transfer-methods/payment'

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

/** The members of an EIP-712 type as its name tells them: `address from, address to`. */
export const members = (text: string): TypedDataField[] =>
  text.split(', ').map((member) => {
    const [type = '', name = ''] = member.split(' ')
    return { name, type }
  })

export const transferTypes = {
  TransferWithAuthorization: members(
    'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce',
  ),
}

export type Authorization = Record<'from' | 'to' | 'value' | 'validAfter' | 'validBefore' | 'nonce', string>

export const inSeconds = (seconds: number): string => String(Math.floor(Date.now() / 1000) + seconds)

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
