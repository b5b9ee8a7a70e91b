import { caip2 } from '@tollgate/protocol'
import { type CatalogFile } from './catalog-file'

type CatalogProvider = CatalogFile['providers'][number]

/** A line for each provider with weights in `methods` that differ from those of its chain's first provider, which are charged. */
export function ignoredWeights({ providers }: Pick<CatalogFile, 'providers'>): string[] {
  const active = providers.filter(({ active }) => active)
  return active.flatMap((provider) => {
    const charged = firstProviders(active, provider)
    if (charged.includes(provider)) return []
    const ignored = Object.entries(provider.methods).filter(([method, weight]) =>
      charged.every((first) => weightOf(first, method) !== weight),
    )
    if (ignored.length === 0 || charged.length === 0) return []
    const chain = caip2({ ecosystem: provider.category, chainId: provider.chain_id })
    const weights = ignored.map(([method, weight]) => `${method}: ${weight}`).join(', ')
    const first = charged.map(({ provider_id }) => JSON.stringify(provider_id)).join(' and ')
    return [
      `${JSON.stringify(provider.provider_id)} of ${chain} has ${weights} under methods without effect; those of the chain's first provider, ${first}, are charged`,
    ]
  })
}

/** The first provider of the chain for each transport that `provider` has. */
function firstProviders(all: readonly CatalogProvider[], provider: CatalogProvider): CatalogProvider[] {
  const ofChain = all.filter(
    ({ category, chain_id }) => category === provider.category && chain_id === provider.chain_id,
  )
  const transports = (['rpc', 'rest'] as const).filter((transport) => provider[transport].length > 0)
  const firsts = transports.flatMap((transport) => ofChain.find((one) => one[transport].length > 0) ?? [])
  return [...new Set(firsts)]
}

const weightOf = ({ methods }: CatalogProvider, method: string) =>
  Object.hasOwn(methods, method) ? methods[method] : 1
