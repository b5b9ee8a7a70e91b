import { type CosmosSigner } from '@tollgate/wallet'

type Ecosystem = 'evm' | 'cosmos'

/** A wallet of this browser. */
export type FoundWallet = {
  /** The reverse domain name of EIP-6963, or the name of the global object. */
  id: string
  name: string
  icon?: string
  ecosystem: Ecosystem
  /** Asks its user, unless `isSilent`: then only a wallet that trusts this page already gives an account. */
  connect(options: { chainId: string | undefined; isSilent: boolean }): Promise<ConnectedWallet | undefined>
}

/** `pubkey`: of a Cosmos wallet, in base64. */
export type SignedText = { signature: string; pubkey?: string }

export type ConnectedWallet = {
  id: string
  name: string
  ecosystem: Ecosystem
  address: string
  /** For `createTollgate`. `onSigned` runs after each signature of a payment. */
  signer(onSigned: () => void): unknown
  /** By personal_sign (EIP-191), or by ADR-036. */
  signText(text: string): Promise<SignedText>
  /** Runs `onChange` when the user has chosen another account; returns what ends it. */
  watch(onChange: () => void): () => void
}

type Eip1193 = {
  request(call: { method: string; params?: unknown[] }): Promise<unknown>
  on?(event: string, listener: () => void): unknown
  removeListener?(event: string, listener: () => void): unknown
}

type ProviderDetail = { info: { rdns: string; name: string; icon: string }; provider: Eip1193 }

const ANNOUNCED = 'eip6963:announceProvider'

/** Calls `onFound` for each EVM wallet that announces itself (EIP-6963), now or later; returns what ends it. */
export function watchEvmWallets(onFound: (wallet: FoundWallet) => void): () => void {
  const announced = (event: Event) => {
    const { detail } = event as CustomEvent<ProviderDetail>
    onFound(evmWallet(detail))
  }
  window.addEventListener(ANNOUNCED, announced)
  window.dispatchEvent(new Event('eip6963:requestProvider'))
  return () => window.removeEventListener(ANNOUNCED, announced)
}

function evmWallet({ info, provider }: ProviderDetail): FoundWallet {
  const identity = { id: info.rdns, name: info.name, ecosystem: 'evm' as const }
  return {
    ...identity,
    // Another scheme could load something from another host.
    ...(info.icon.startsWith('data:image/') ? { icon: info.icon } : {}),
    async connect({ isSilent }) {
      const method = isSilent ? 'eth_accounts' : 'eth_requestAccounts'
      const [address] = (await provider.request({ method })) as string[]
      if (address === undefined) return undefined
      return {
        ...identity,
        address,
        signer: (onSigned) => observedProvider(provider, onSigned),
        signText: async (text) => ({ signature: await personalSign(provider, text, address) }),
        watch(onChange) {
          provider.on?.('accountsChanged', onChange)
          return () => void provider.removeListener?.('accountsChanged', onChange)
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

const observedProvider = (provider: Eip1193, onSigned: () => void): Eip1193 => ({
  async request(call) {
    const answer = await provider.request(call)
    if (call.method === 'eth_signTypedData_v4') onSigned()
    return answer
  },
})

/** The interface that Keplr and Leap share. */
type Keplr = {
  enable(chainId: string): Promise<void>
  getOfflineSigner(chainId: string): CosmosSigner
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
    async connect({ chainId, isSilent }) {
      // Asking for the chain opens the extension, unless its user has allowed this page before.
      if (chainId === undefined || isSilent) return undefined
      await keplr.enable(chainId)
      const signer = keplr.getOfflineSigner(chainId)
      const [account] = await signer.getAccounts()
      if (!account) return undefined
      return {
        ...identity,
        address: account.address,
        signer: (onSigned) => ({
          signer: observedSigner(signer, onSigned),
          signArbitrary: (address: string, text: string) => keplr.signArbitrary(chainId, address, text),
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

function observedSigner(signer: CosmosSigner, onSigned: () => void): CosmosSigner {
  const { signDirect, signAmino } = signer
  return {
    getAccounts: () => signer.getAccounts(),
    ...(signDirect && {
      async signDirect(address, doc) {
        const answer = await signDirect.call(signer, address, doc)
        onSigned()
        return answer
      },
    }),
    ...(signAmino && {
      async signAmino(address, doc) {
        const answer = await signAmino.call(signer, address, doc)
        onSigned()
        return answer
      },
    }),
  }
}
