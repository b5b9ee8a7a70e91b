import { Contract, hexlify, randomBytes, type Provider, type TypedDataDomain, type Wallet } from 'ethers'
import type { Terms } from '../../family'
import { readPayment } from '../transfer-methods/payment'
import { PERMIT2, PROXY } from '../transfer-methods/permit2/contracts'
import type { PermittedPayment } from '../transfer-methods/permit2/payment'
import { inSeconds, members, usdc, usdcDomain } from './authorization'

export const permit2Domain: TypedDataDomain = { name: 'Permit2', chainId: 84532, verifyingContract: PERMIT2 }

const TokenPermissions = members('address token, uint256 amount')
const permitMembers = members('TokenPermissions permitted, address spender, uint256 nonce, uint256 deadline')
export const transferTypes = {
  PermitWitnessTransferFrom: [...permitMembers, ...members('Witness witness')],
  TokenPermissions,
  Witness: members('address to, uint256 validAfter'),
}
/** A transfer that names no recipient: the spender decides. */
export const plainTransferTypes = { PermitTransferFrom: permitMembers, TokenPermissions }

const permitTypes = {
  Permit: members('address owner, address spender, uint256 value, uint256 nonce, uint256 deadline'),
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

/** The signed part: the signature determines the payer. */
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
