import { messageOf } from '../../api/api-error'
import { buyer } from '../../texts'
import { evmCurrency } from '../../ui/native-currency'
import { codeOf } from '../purchase/purchase'

/** A chain as a wallet adds it (EIP-3085). `id` in decimal. */
export type WalletChain = { id: string; name: string; rpcUrl: string }

type Request = (call: { method: string; params: unknown[] }) => Promise<unknown>

/** EIP-3085, and EIP-1193 */
const UNKNOWN_CHAIN = 4902
const USER_REJECTED = 4001

const CURRENCY_DECIMALS = 18

/** Puts the wallet on the chain, which it may have to add first. @throws Error NETWORK_NOT_CHANGED */
export async function changeChain(request: Request, chain: WalletChain): Promise<unknown> {
  const chainId = `0x${BigInt(chain.id).toString(16)}`
  const change = () => request({ method: 'wallet_switchEthereumChain', params: [{ chainId }] })
  try {
    return await change().catch(async (error: unknown) => {
      if (!isUnknownChain(error)) throw error
      await request({ method: 'wallet_addEthereumChain', params: [descriptionOf(chainId, chain)] })
      // Some wallets add a chain without changing to it.
      return change()
    })
  } catch (cause) {
    const text = isRejected(cause)
      ? buyer.wallet.notSwitched(chain.name)
      : buyer.wallet.cannotSwitch(chain.name)
    throw Object.assign(new Error(text, { cause }), { code: 'NETWORK_NOT_CHANGED' })
  }
}

const descriptionOf = (chainId: string, { id, name, rpcUrl }: WalletChain) => {
  const symbol = evmCurrency(id)
  return {
    chainId,
    chainName: name,
    rpcUrls: [rpcUrl],
    nativeCurrency: { name: symbol, symbol, decimals: CURRENCY_DECIMALS },
  }
}

/** MetaMask Mobile wraps the error in another one. */
function isUnknownChain(error: unknown): boolean {
  const { data } = (error ?? {}) as { data?: { originalError?: unknown } }
  const isNamed = /unrecognized chain/i.test(messageOf(error))
  return codeOf(error) === UNKNOWN_CHAIN || codeOf(data?.originalError) === UNKNOWN_CHAIN || isNamed
}

const isRejected = (error: unknown): boolean =>
  codeOf(error) === USER_REJECTED || /reject|denied/i.test(messageOf(error))
