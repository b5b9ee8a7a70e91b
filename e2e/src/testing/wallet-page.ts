import { launchBrowser } from '@tollgate/browser-testing'
import { type HDNodeWallet } from 'ethers'

type KeyWallet = Pick<HDNodeWallet, 'address' | 'signMessage' | 'signTypedData'>

/** A page with `window.ethereum`, as a wallet's extension provides it, on the chain of the payments. */
export async function openWalletPage(wallet: KeyWallet) {
  const walletRequest = (method: string, params: string[]) => answerAsWallet(wallet, method, params)
  const { context, close } = await launchBrowser({ functions: { walletRequest } })
  await context.addInitScript(
    'window.ethereum = { request: ({ method, params = [] }) => walletRequest(method, params) }',
  )
  return { page: await context.newPage(), close }
}

/** What an EIP-1193 wallet that confirms everything answers. */
export async function answerAsWallet(wallet: KeyWallet, method: string, [first = '', second = '']: string[]) {
  if (method === 'eth_requestAccounts') return [wallet.address]
  if (method === 'eth_chainId') return '0x14a34'
  if (method === 'personal_sign') return wallet.signMessage(Buffer.from(first.slice(2), 'hex'))
  if (method !== 'eth_signTypedData_v4') throw new Error(`The wallet has no ${method}`)
  const { domain, types, message } = JSON.parse(second) as Record<string, Record<string, never>>
  const { EIP712Domain: _, ...own } = types ?? {}
  return wallet.signTypedData(domain ?? {}, own, message ?? {})
}
