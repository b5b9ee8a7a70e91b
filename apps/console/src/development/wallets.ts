import { makeSignDoc, Secp256k1Wallet, type StdSignDoc } from '@cosmjs/amino'
import { toBase64 } from '@cosmjs/encoding'
import { DirectSecp256k1Wallet } from '@cosmjs/proto-signing'
import { getBytes, Wallet } from 'ethers'

/** DEVELOPMENT ONLY: keys that are known to everybody. The development network writes them before this script. */
declare const developmentKeys: {
  evm: { privateKey: string; chainId: string }
  cosmos: { privateKey: string; prefix: string }
}

const ICON = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#e67700"/><path d="M8 11h16v12H8zM18 16h6" stroke="#fff" stroke-width="2.5" fill="none"/></svg>',
)}`

/** An EIP-1193 provider that confirms everything, announced by EIP-6963. */
function announceEvmWallet({ privateKey, chainId }: typeof developmentKeys.evm) {
  const wallet = new Wallet(privateKey)
  const answers: Record<string, (params: string[]) => unknown> = {
    eth_requestAccounts: () => [wallet.address],
    eth_accounts: () => [wallet.address],
    eth_chainId: () => `0x${Number(chainId).toString(16)}`,
    wallet_switchEthereumChain: () => null,
    personal_sign: ([message = '']) => wallet.signMessage(getBytes(message)),
    eth_signTypedData_v4: ([, json = '']) => signTypedData(wallet, json),
  }
  const provider = {
    request({ method, params = [] }: { method: string; params?: string[] }): Promise<unknown> {
      const answer = answers[method]
      if (answer) return Promise.resolve(answer(params))
      const message = `The development wallet has no ${method}`
      return Promise.reject(Object.assign(new Error(message), { code: 4200 }))
    },
    on: () => provider,
    removeListener: () => provider,
  }
  const info = {
    uuid: '8f0c6a5e-7a1d-4a70-9a0e-51d1c1a7f0de',
    name: 'Development wallet',
    icon: ICON,
    rdns: 'example.tollgate.development',
  }
  const announce = () => {
    const detail = Object.freeze({ info, provider })
    window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
  }
  window.addEventListener('eip6963:requestProvider', announce)
  announce()
}

type TypedData = {
  domain: Record<string, unknown>
  types: Record<string, { name: string; type: string }[]>
  message: Record<string, unknown>
}

function signTypedData(wallet: Wallet, json: string) {
  const { domain, types, message } = JSON.parse(json) as TypedData
  const { EIP712Domain: _, ...own } = types
  return wallet.signTypedData(domain, own, message)
}

/** The parts of Keplr's interface that pages use, unless a real Keplr is there. */
function installKeplr({ privateKey, prefix }: typeof developmentKeys.cosmos) {
  const key = getBytes(privateKey.startsWith('0x') ? privateKey : `0x${privateKey}`)
  const wallets = Promise.all([
    Secp256k1Wallet.fromKey(key, prefix),
    DirectSecp256k1Wallet.fromKey(key, prefix),
  ])
  const signer = {
    getAccounts: async () => (await wallets)[0].getAccounts(),
    signAmino: async (address: string, doc: StdSignDoc) => (await wallets)[0].signAmino(address, doc),
    signDirect: async (...parameters: Parameters<DirectSecp256k1Wallet['signDirect']>) =>
      (await wallets)[1].signDirect(...parameters),
  }
  const keplr = {
    enable: () => Promise.resolve(),
    experimentalSuggestChain: () => Promise.resolve(),
    getOfflineSigner: () => signer,
    getKey: async () => {
      const [account] = await signer.getAccounts()
      return { name: 'Development wallet', bech32Address: account?.address, pubKey: account?.pubkey }
    },
    /** ADR-036 */
    async signArbitrary(_chainId: string, address: string, text: string) {
      const data = toBase64(new TextEncoder().encode(text))
      const message = { type: 'sign/MsgSignData', value: { signer: address, data } }
      const doc = makeSignDoc([message], { gas: '0', amount: [] }, '', '', 0, 0)
      return (await signer.signAmino(address, doc)).signature
    },
  }
  Object.defineProperty(window, 'keplr', { value: keplr, configurable: true })
}

announceEvmWallet(developmentKeys.evm)
if (!('keplr' in window)) installKeplr(developmentKeys.cosmos)
