import { Contract, hexlify, randomBytes, type Provider, type TypedDataDomain, type Wallet } from 'ethers'
import type { Terms } from '../../family'
import { readPayment } from '../payment'
import { PERMIT2, PROXY } from '../permit2/contracts'
import type { PermittedPayment } from '../permit2/payment'
import { usdc, usdcDomain } from './authorization'

export const permit2Domain: TypedDataDomain = { name: 'Permit2', chainId: 84532, verifyingContract: PERMIT2 }

const TokenPermissions = [
  { name: 'token', type: 'address' },
  { name: 'amount', type: 'uint256' },
]
const permitFields = [
  { name: 'permitted', type: 'TokenPermissions' },
  { name: 'spender', type: 'address' },
  { name: 'nonce', type: 'uint256' },
  { name: 'deadline', type: 'uint256' },
]
export const transferTypes = {
  PermitWitnessTransferFrom: [...permitFields, { name: 'witness', type: 'Witness' }],
  TokenPermissions,
  Witness: [
    { name: 'to', type: 'address' },
    { name: 'validAfter', type: 'uint256' },
  ],
}
/** A transfer that names no recipient: whoever is the spender decides. */
export const plainTransferTypes = { PermitTransferFrom: permitFields, TokenPermissions }

const permitTypes = {
  Permit: [
    { name: 'owner', type: 'address' },
    { name: 'spender', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'nonce', type: 'uint256' },
    { name: 'deadline', type: 'uint256' },
  ],
}

export type Authorization = {
  from: string
  permitted: { token: string; amount: string }
  spender: string
  nonce: string
  deadline: string
  witness: { to: string; validAfter: string }
}
type Permit = {
  from: string
  asset: string
  spender: string
  amount: string
  nonce: string
  deadline: string
}
type Signer = Pick<Wallet, 'address' | 'signTypedData'>
type Wanted = Pick<Terms, 'payTo' | 'amount'>

export const inSeconds = (seconds: number): string => String(Math.floor(Date.now() / 1000) + seconds)

/** What is signed of it: its payer is told by the signature. */
export const messageOf = ({ permitted, spender, nonce, deadline, witness }: Authorization) => ({
  permitted,
  spender,
  nonce,
  deadline,
  witness,
})

/** What a public client would sign for these terms, now, unless `changes` say otherwise. */
export async function signTransfer(
  wallet: Signer,
  { payTo, amount }: Wanted,
  changes: Partial<Authorization> = {},
  domain = permit2Domain,
) {
  const permit2Authorization: Authorization = {
    from: wallet.address,
    permitted: { token: usdc.asset, amount: amount.toString() },
    spender: PROXY,
    nonce: BigInt(hexlify(randomBytes(32))).toString(),
    deadline: inSeconds(120),
    witness: { to: payTo, validAfter: '0' },
    ...changes,
  }
  const message = messageOf(permit2Authorization)
  return { signature: await wallet.signTypedData(domain, transferTypes, message), permit2Authorization }
}

/** The token's own permit for Permit2, as the extension `eip2612GasSponsoring` carries it. */
export async function signPermit(
  wallet: Signer,
  provider: Provider,
  amount: bigint,
  changes: Partial<Permit> = {},
) {
  const token = new Contract(usdc.asset, ['function nonces(address) view returns (uint256)'], provider)
  const permit: Permit = {
    from: wallet.address,
    asset: usdc.asset,
    spender: PERMIT2,
    amount: amount.toString(),
    nonce: String(await token.getFunction('nonces').staticCall(wallet.address)),
    deadline: inSeconds(120),
    ...changes,
  }
  const { from: owner, spender, amount: value, nonce, deadline } = permit
  const message = { owner, spender, value, nonce, deadline }
  const signature = await wallet.signTypedData(usdcDomain, permitTypes, message)
  return { info: { ...permit, signature, version: '1' } }
}

export function permitted(payload: unknown): PermittedPayment {
  const read = readPayment(payload)
  if (read?.kind !== 'permit2') throw new Error('The payload cannot be read')
  return read
}
