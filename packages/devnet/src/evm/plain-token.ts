import { AbiCoder, getAddress, Interface } from 'ethers'
import { readArtifacts } from './artifacts'
import { send } from './deploy'

/** The order is that of the contract's enum. */
const traits = [
  'Permits',
  'Plain',
  'Silent',
  'AlwaysAllows',
  'OtherPermit',
  'TakesFee',
  'ChargesPayer',
  'MovesNothing',
  'MovesFreely',
  'MovesBeyond',
  'AnyPermit',
  'NobodysPermit',
  'AnyAuthorization',
  'NoTransferEvent',
  'Shrinks',
  'Paused',
  'Dear',
] as const
export type PlainTokenTrait = (typeof traits)[number]

const artifacts = readArtifacts()
const contract = new Interface(artifacts.PlainToken.abi)
const coder = AbiCoder.defaultAbiCoder()

/** Deploys a token without EIP-3009, of 18 decimals; returns its address. For tests. */
export async function deployPlainToken(rpcUrl: string, trait: PlainTokenTrait = 'Permits'): Promise<string> {
  const argument = coder.encode(['uint8'], [traits.indexOf(trait)]).slice(2)
  const { contractAddress } = await send(rpcUrl, { data: artifacts.PlainToken.bytecode + argument })
  return getAddress(contractAddress)
}

/** Changes the trait of a token of {@link deployPlainToken}, as its owner could. */
export const alterPlainToken = (rpcUrl: string, address: string, trait: PlainTokenTrait) =>
  send(rpcUrl, { to: address, data: contract.encodeFunctionData('become', [traits.indexOf(trait)]) })

/** Adds to the balance of a holder, in the smallest unit. */
export const mintPlainToken = (rpcUrl: string, address: string, to: string, value: bigint) =>
  send(rpcUrl, { to: address, data: contract.encodeFunctionData('mint', [to, value]) })
