import { type CosmosSigner, type WalletInput } from '@tollgate/wallet'
import { buyer } from '../../texts'
import { changeChain, type WalletChain } from './change-chain'

type Ecosystem = 'evm' | 'cosmos'

/** A wallet of this browser. */
export type FoundWallet = {
  /** The `uuid` of EIP-6963, or the name of the global object. */
  id: string
  /** The same after a reload: the reverse domain name of EIP-6963, which any extension may claim, or `id`. */
  family: string
  name: string
  icon?: string
  ecosystem: Ecosystem
  /** Asks its user, unless `isSilent`: then only a wallet that trusts this page already gives an account. */
  connect(options: { chainId: string | undefined; isSilent: boolean }): Promise<ConnectedWallet | undefined>
}

/** `pubkey`: of a Cosmos wallet, in base64. */
export type SignedText = { signature: string; pubkey?: string }
type SignerOptions = {
  /** Runs after each signature of a payment. */
  onSigned: () => void
  /** The wallet is asked for no signature. */
  isSilent: boolean
  /** Chains on which payments are made; a wallet adds those that it does not know. */
  chains?: readonly WalletChain[]
}

export type ConnectedWallet = {
  id: string
  name: string
  ecosystem: Ecosystem
  address: string
  /** For `createTollgate`; of this address, also when the wallet's user chooses another account. */
  signer(options: SignerOptions): WalletInput
  /** By personal_sign (EIP-191), or by ADR-036. */
  signText(text: string): Promise<SignedText>
  /** Runs `onChange` when the user has chosen another account; returns what ends it. */
  watch(onChange: () => void): () => void
}

type Call = { method: string; params?: unknown[] }

type Eip1193 = {
  request(call: Call): Promise<unknown>
  on?(event: string, listener: () => void): unknown
  removeListener?(event: string, listener: () => void): unknown
}

const ANNOUNCED = 'eip6963:announceProvider'

/** Calls `onFound` for each EVM wallet that announces itself (EIP-6963), now or later; returns what ends it. */
export function watchEvmWallets(onFound: (wallet: FoundWallet) => void): () => void {
  const announced = (event: Event) => {
    const wallet = evmWallet((event as CustomEvent<unknown>).detail)
    if (wallet) onFound(wallet)
  }
  window.addEventListener(ANNOUNCED, announced)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  return () => window.removeEventListener(ANNOUNCED, announced)
}

/** Undefined if the announcement is malformed: any extension can send the event. */
export function evmWallet(detail: unknown): FoundWallet | undefined {
  const { info, provider } = membersOf(detail)
  const { uuid, rdns, name, icon } = membersOf(info)
  if (!isText(uuid) || typeof membersOf(provider)['request'] !== 'function') return undefined
  const family = isText(rdns) ? rdns : uuid
  const identity = { id: uuid, name: nameOf(name, rdns), ecosystem: 'evm' as const }
  return {
    ...identity,
    family,
    // Another scheme could load something from another host.
    ...(isText(icon) && icon.startsWith('data:image/') ? { icon } : {}),
    async connect({ isSilent }) {
      const asked = provider as Eip1193
      const method = isSilent ? 'eth_accounts' : 'eth_requestAccounts'
      const [address] = (await asked.request({ method })) as string[]
      if (address === undefined) return undefined
      return {
        ...identity,
        address,
        signer: (options) => signingProvider(asked, address, options),
        signText: async (text) => ({ signature: await personalSign(asked, text, address) }),
        watch(onChange) {
          asked.on?.('accountsChanged', onChange)
          return () => void asked.removeListener?.('accountsChanged', onChange)
        },
      }
    },
  }
}

async function personalSign(provider: Eip1193, text: string, address: string): Promise<string> {
  const bytes = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, '0'))
  const params = [`0x${bytes.join('')}`, address]
  return (await provider.request({ method: 'personal_sign', params })) as string
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}

const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

const nameOf = (name: unknown, rdns: unknown): string =>
  isText(name) ? name : isText(rdns) ? rdns : buyer.wallet.nameless

const signingProvider = (
  provider: Eip1193,
  address: string,
  { onSigned, isSilent, chains = [] }: SignerOptions,
) => ({
  async request(call: Call) {
    if (call.method === 'eth_requestAccounts') return [address]
    if (isSilent) throw notAsked()
    const chain = call.method === 'wallet_switchEthereumChain' && chains.find((one) => isWanted(one, call))
    if (chain) return changeChain((asked) => provider.request(asked), chain)
    const answer = await provider.request(call)
    if (call.method === 'eth_signTypedData_v4') onSigned()
    return answer
  },
})

function isWanted({ id }: WalletChain, { params = [] }: Call): boolean {
  const { chainId } = membersOf(params[0])
  return Number(chainId) === Number(id)
}

const notAsked = () => new Error(buyer.wallet.notAsked)

/** The interface that Keplr and Leap share. */
type Keplr = {
  enable(chainId: string): Promise<void>
  getOfflineSigner(chainId: string, options: { preferNoSetFee: boolean }): CosmosSigner
  signArbitrary(
    chainId: string,
    address: string,
    text: string,
  ): Promise<{ signature: string; pub_key: { value: string } }>
}

const KEPLR_LIKE = [
  { id: 'keplr', name: 'Keplr', changed: 'keplr_keystorechange' },
  { id: 'leap', name: 'Leap', changed: 'leap_keystorechange' },
] as const

/** Extensions set their global object before the page's own script runs. */
export const findCosmosWallets = (): FoundWallet[] =>
  KEPLR_LIKE.flatMap(({ id, name, changed }) => {
    const keplr = (window as unknown as Record<string, Keplr | undefined>)[id]
    return keplr ? [cosmosWallet({ id, name, changed, keplr })] : []
  })

function cosmosWallet(found: { id: string; name: string; changed: string; keplr: Keplr }): FoundWallet {
  const { id, name, changed, keplr } = found
  const identity = { id, name, ecosystem: 'cosmos' as const }
  return {
    ...identity,
    family: id,
    async connect({ chainId, isSilent }) {
      // Asking for the chain opens the extension, unless its user has allowed this page before.
      if (chainId === undefined || isSilent) return undefined
      await keplr.enable(chainId)
      // Else the wallet sets a fee of its own, which may be more than the facilitator pays.
      const signer = keplr.getOfflineSigner(chainId, { preferNoSetFee: true })
      const accounts = await signer.getAccounts()
      const [account] = accounts
      if (!account) return undefined
      return {
        ...identity,
        address: account.address,
        signer: (options) => ({
          signer: signingSigner(signer, accounts, options),
          signArbitrary: (address: string, text: string) =>
            options.isSilent ? Promise.reject(notAsked()) : keplr.signArbitrary(chainId, address, text),
        }),
        async signText(text) {
          const { signature, pub_key } = await keplr.signArbitrary(chainId, account.address, text)
          return { signature, pubkey: pub_key.value }
        },
        watch(onChange) {
          window.addEventListener(changed, onChange)
          return () => window.removeEventListener(changed, onChange)
        },
      }
    },
  }
}

type Accounts = Awaited<ReturnType<CosmosSigner['getAccounts']>>

function signingSigner(
  signer: CosmosSigner,
  accounts: Accounts,
  { onSigned, isSilent }: SignerOptions,
): CosmosSigner {
  const { signDirect, signAmino } = signer
  async function signed<T>(sign: () => Promise<T>): Promise<T> {
    if (isSilent) throw notAsked()
    const answer = await sign()
    onSigned()
    return answer
  }
  return {
    getAccounts: () => Promise.resolve(accounts),
    ...(signDirect && { signDirect: (address, doc) => signed(() => signDirect.call(signer, address, doc)) }),
    ...(signAmino && { signAmino: (address, doc) => signed(() => signAmino.call(signer, address, doc)) }),
  }
}
