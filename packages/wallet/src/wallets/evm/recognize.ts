import { TollgateError } from '../../errors.js'
import { toHex } from '../../encoding.js'
import { assertNotStopped } from '../../stops.js'
import { type WalletFamily } from '../wallet.js'
import { evmWallet, type EvmSigner, type TypedData } from './evm-wallet.js'

type Request = (args: { method: string; params?: unknown[] }) => Promise<unknown>

/** The parts of an ethers v6 `Signer`. A `JsonRpcSigner` has a provider with `send`, and signs only on the wallet's current chain. */
type EthersSigner = {
  getAddress(): Promise<string>
  signMessage(text: string): Promise<string>
  signTypedData(
    domain: TypedData['domain'],
    types: TypedData['types'],
    message: TypedData['message'],
  ): Promise<string>
  sendUncheckedTransaction?: unknown
  provider?: { send?(method: string, params: unknown[]): Promise<unknown> } | null
}

/** The parts of a viem account that signs by itself. */
type ViemAccount = {
  address: string
  signMessage(parameters: { message: string }): Promise<string>
  signTypedData(data: TypedData): Promise<string>
}

type ViemClient = { account?: Partial<ViemAccount>; request: Request }

/** ethers v6 signers, viem accounts and wallet clients, and EIP-1193 providers. */
export const recognizeEvm: WalletFamily = (input) => {
  if (!isObject(input)) return undefined
  // Before ethers: a smart account of viem has `getAddress`, too.
  if (isViemAccount(input) && has(input, 'signMessage', 'signTypedData'))
    return evmWallet(viemAccount(input as ViemAccount))
  if (has(input, 'getAddress', 'signMessage', 'signTypedData'))
    return evmWallet(ethersSigner(input as EthersSigner))
  if (!has(input, 'request')) return undefined
  const { account, request } = input as ViemClient
  if (isObject(account) && has(account, 'signMessage', 'signTypedData'))
    return evmWallet(viemAccount(account as ViemAccount))
  return evmWallet(eip1193Signer((args) => request.call(input, args), account?.address))
}

function ethersSigner(signer: EthersSigner): EvmSigner {
  const { provider } = signer
  const isRemote = signer.sendUncheckedTransaction !== undefined && typeof provider?.send === 'function'
  const request: Request = ({ method, params = [] }) =>
    provider?.send?.(method, params) ?? Promise.reject(new Error('The signer has no provider'))
  return {
    address: () => signer.getAddress(),
    signMessage: (text) => signer.signMessage(text),
    async signTypedData(data, stops) {
      if (isRemote) await switchChain(request, data.domain.chainId)
      assertNotStopped(stops)
      return signer.signTypedData(data.domain, data.types, data.message)
    },
  }
}

const viemAccount = (account: ViemAccount): EvmSigner => ({
  address: () => Promise.resolve(account.address),
  signMessage: (message) => account.signMessage({ message }),
  signTypedData: (data) => account.signTypedData(data),
})

/** EIP-1193, with the methods of EIP-1102, EIP-191, EIP-712 and EIP-3326. */
function eip1193Signer(request: Request, account: string | undefined): EvmSigner {
  const address = async () => account ?? firstOf(await request({ method: 'eth_requestAccounts' }))
  return {
    address,
    async signMessage(text) {
      const bytes = toHex(new TextEncoder().encode(text))
      return asText(await request({ method: 'personal_sign', params: [bytes, await address()] }))
    },
    async signTypedData(data, stops) {
      await switchChain(request, data.domain.chainId)
      assertNotStopped(stops)
      const types = { EIP712Domain: EIP712_DOMAIN, ...data.types }
      const params = [data.message['from'], JSON.stringify({ ...data, types })]
      return asText(await request({ method: 'eth_signTypedData_v4', params }))
    },
  }
}

const EIP712_DOMAIN = [
  { name: 'name', type: 'string' },
  { name: 'version', type: 'string' },
  { name: 'chainId', type: 'uint256' },
  { name: 'verifyingContract', type: 'address' },
]

/** Browser wallets sign typed data only for the chain they are on. */
async function switchChain(request: Request, chainId: number): Promise<void> {
  if (Number(await request({ method: 'eth_chainId' })) === chainId) return
  const params = [{ chainId: `0x${chainId.toString(16)}` }]
  await request({ method: 'wallet_switchEthereumChain', params })
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

const isViemAccount = ({ type, address }: Record<string, unknown>) =>
  typeof type === 'string' && typeof address === 'string'

const has = (value: Record<string, unknown>, ...names: string[]) =>
  names.every((name) => typeof value[name] === 'function')

function firstOf(accounts: unknown): string {
  const [first] = Array.isArray(accounts) ? (accounts as unknown[]) : []
  if (typeof first !== 'string')
    throw new TollgateError(
      'SIGNATURE_REFUSED',
      'The wallet has no account for this page; ask its user to connect one',
    )
  return first
}

function asText(signature: unknown): string {
  if (typeof signature !== 'string') throw new Error('the answer is no signature')
  return signature
}
