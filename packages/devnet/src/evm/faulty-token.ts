import { AbiCoder, getAddress, Interface } from 'ethers'
import { readArtifacts } from './artifacts'
import { send } from './deploy'

/** In the order of the contract's enum. */
const tokenFaults = [
  'None',
  'TakesFee',
  'ChargesPayer',
  'MovesNothing',
  'CountsTwice',
  'Replayable',
  'AnySignature',
  'LooseAmount',
  'Late',
  'Early',
  'DeniesUse',
  'ClaimsUse',
  'NoStandard',
  'NoTransferEvent',
  'WrongTransferEvent',
  'NoUsedEvent',
  'NoDomain',
  'Reverts',
  'Endless',
  'Talkative',
  'HiddenBalance',
  'PackedBalance',
  'LastNonceOnly',
  'ForgetsInTime',
  'NoSigner',
  'Limited',
  'TakesFeeOpenly',
  'FailsWhenMined',
] as const
export type TokenFault = (typeof tokenFaults)[number]

type Kind = { fault?: TokenFault; decimals?: number }

const artifacts = readArtifacts()
const contract = new Interface(artifacts.FaultyToken.abi)
const coder = AbiCoder.defaultAbiCoder()

const argumentsOf = ({ fault = 'None', decimals = 6 }: Kind) => [tokenFaults.indexOf(fault), decimals]

/** Deploys a token with this fault or none, behind a proxy on request; returns its address. For tests. */
export async function deployFaultyToken(
  rpcUrl: string,
  { isProxied = false, ...kind }: Kind & { isProxied?: boolean } = {},
): Promise<string> {
  const create = async (bytecode: string, types: string[], values: unknown[]) =>
    getAddress(
      (await send(rpcUrl, { data: bytecode + coder.encode(types, values).slice(2) })).contractAddress,
    )
  const token = await create(artifacts.FaultyToken.bytecode, ['uint8', 'uint8'], argumentsOf(kind))
  if (!isProxied) return token
  const call = contract.encodeFunctionData('become', argumentsOf(kind))
  return create(artifacts.TokenProxy.bytecode, ['address', 'bytes'], [token, call])
}

/** Changes the fault or the decimals of a token of {@link deployFaultyToken}, as its owner could. */
export const alterFaultyToken = (rpcUrl: string, address: string, kind: Kind) =>
  send(rpcUrl, { to: address, data: contract.encodeFunctionData('become', argumentsOf(kind)) })
