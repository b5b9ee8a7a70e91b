import { type Ecosystem } from '@tollgate/protocol'
import { methodsNeverServed } from '../rpc/not-served'
import { type Catalog, type Plan, type Provider } from './catalog'

/** What calls to a chain cost, and which are refused. A chain with other providers for REST than for RPC has two. */
export type CallPrices = {
  ecosystem: Ecosystem
  chain_id: string
  transports: ('rpc' | 'rest')[]
  method_credits: Record<string, number>
  not_served: string[]
}

/** Empty while a row of a provider cannot be read: plans are sold then, too. */
export const getCallPrices = (catalog: Pick<Catalog, 'readProviders'>): Promise<CallPrices[]> =>
  catalog.readProviders().then(callPricesOf, () => [])

/** By the provider whose weights are charged: the first one of each chain and transport. */
const callPricesOf = ({ list, findRoute }: Awaited<ReturnType<Catalog['readProviders']>>): CallPrices[] =>
  list.flatMap((provider) => {
    const { category, chainId, methods } = provider
    const transports = (['rpc', 'rest'] as const).filter(
      (transport) => findRoute(category, chainId, transport)?.provider === provider,
    )
    if (transports.length === 0) return []
    const not_served = transports.includes('rpc') ? notServedOf(provider) : []
    return [{ ecosystem: category, chain_id: chainId, transports, method_credits: methods, not_served }]
  })

export const notServedOf = ({ category, notServed }: Provider): string[] => [
  ...new Set([...methodsNeverServed[category], ...notServed]),
]

const MAX_DECIMALS = 18n

/** In the display unit of the asset, rounded up where it has more than 18 decimals beyond those of the asset. */
export function pricePerCredit({ amount, decimals, credits }: Plan): string {
  const scale = 10n ** MAX_DECIMALS
  const scaled = (amount * scale + BigInt(credits) - 1n) / BigInt(credits)
  return decimalText(scaled, decimals + Number(MAX_DECIMALS))
}

/** `value` x 10^-`decimals`, without trailing zeros. */
export function decimalText(value: bigint, decimals: number): string {
  const digits = value.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}
