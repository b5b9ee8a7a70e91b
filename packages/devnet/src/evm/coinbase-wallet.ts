import {
  AbiCoder,
  type BaseWallet,
  concat,
  getAddress,
  hashMessage,
  Interface,
  type TypedDataDomain,
  TypedDataEncoder,
  type TypedDataField,
  zeroPadValue,
} from 'ethers'
import { readArtifacts } from './artifacts'
import { COINBASE_WALLET_FACTORY_ADDRESS, send } from './deploy'
import { callRpc } from './rpc'

const coder = AbiCoder.defaultAbiCoder()
const factory = new Interface(readArtifacts().CoinbaseSmartWalletFactory.abi)
const CHAIN_ID = 84532
const TYPES = { CoinbaseSmartWalletMessage: [{ name: 'hash', type: 'bytes32' }] }
const WRAPPER = ['address', 'bytes', 'bytes']
const SUFFIX = `0x${'6492'.repeat(16)}`

type Signer = {
  address: string
  signMessage(message: string): Promise<string>
  signTypedData(
    domain: TypedDataDomain,
    types: Record<string, TypedDataField[]>,
    message: Record<string, unknown>,
  ): Promise<string>
}
export type CoinbaseWallet = Awaited<ReturnType<typeof createCoinbaseWallet>>

/** An ERC-6492 wrapper. */
export const wrapSignature = (to: string, data: string, signature: string): string =>
  concat([coder.encode(WRAPPER, [to, data, signature]), SUFFIX])

/**
 * The contract wallet of an owner, as Base Account uses it: it wraps every signature, deployed or not. `bare` does not wrap.
 * `by`: the factory. For tests.
 */
export async function createCoinbaseWallet(
  rpcUrl: string,
  owner: BaseWallet,
  by = COINBASE_WALLET_FACTORY_ADDRESS,
) {
  const accountOf = [[zeroPadValue(owner.address, 32)], 0]
  const factoryData = factory.encodeFunctionData('createAccount', accountOf)
  const question = {
    to: by,
    data: factory.encodeFunctionData('getAddress', accountOf),
  }
  const word = (await callRpc(rpcUrl, 'eth_call', question, 'latest')) as string
  const address = getAddress(`0x${word.slice(-40)}`)
  const domain = {
    name: 'Coinbase Smart Wallet',
    version: '1',
    chainId: CHAIN_ID,
    verifyingContract: address,
  }

  async function sign(hash: string): Promise<string> {
    const signatureData = await owner.signTypedData(domain, TYPES, { hash })
    return coder.encode(['tuple(uint256,bytes)'], [[0, signatureData]])
  }
  const wrap = (signature: string) => wrapSignature(by, factoryData, signature)

  const bare: Signer = {
    address,
    signMessage: (message) => sign(hashMessage(message)),
    signTypedData: (...typed) => sign(TypedDataEncoder.hash(...typed)),
  }
  const wrapping: Signer = {
    address,
    signMessage: async (message) => wrap(await bare.signMessage(message)),
    signTypedData: async (...typed) => wrap(await bare.signTypedData(...typed)),
  }
  return {
    ...wrapping,
    bare,
    factoryData,
    deploy: () => send(rpcUrl, { to: by, data: factoryData }),
    /** Sends a transaction from the wallet, as its owner could. */
    execute: (to: string, data: string) => send(rpcUrl, { to, data }, address),
  }
}
