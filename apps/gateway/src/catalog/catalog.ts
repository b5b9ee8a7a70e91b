import { type GatewayDatabase } from '@tollgate/database'
import { caip2, Ecosystem, TransferMethod } from '@tollgate/protocol'
import { z } from 'zod'
import { chainsOf } from './chains'
import { type ProviderSecrets } from './secrets/provider-secrets'
import { type Access } from './secrets/resolve-access'

/** `amount` in smallest units of the asset. */
export type Plan = {
  id: number
  name: string
  network: string
  chainId: string
  ecosystem: Ecosystem
  asset: string
  assetName: string | null
  assetVersion: string | null
  amount: bigint
  decimals: number
  displayDenom: string
  credits: number
  payTo: string
  maxTimeoutSeconds: number
  /** The ways to pay an EVM plan, the first preferred. Empty in other ecosystems, which have one way. */
  transferMethods: readonly TransferMethod[]
  active: boolean
}

/**
 * `network`: the chain's name, if the provider states it. `methods`: the cost in credits of each method that does not cost one.
 * `notServed`: the methods that the catalog file adds to those that no node serves over HTTP.
 */
export type Provider = Access & {
  id: number
  key: string
  category: Ecosystem
  chainId: string
  network: string | null
  description: string
  methods: Record<string, number>
  notServed: string[]
}

/**
 * `provider`: the key of a provider in the configuration. `chain`: its CAIP-2 id. `baseUrl`: names the upstream, without its secrets.
 * `url`, `headers`: as they are sent, so never shown.
 */
export type Endpoint = {
  provider: string
  chain: string
  baseUrl: string
  url: string
  headers: Readonly<Record<string, string>>
  secrets: readonly string[]
}

/** The upstreams of a chain, in order. The first provider's weights are charged. `chain`: its CAIP-2 id. */
export type Route = { provider: Provider; chain: string; endpoints: readonly Endpoint[] }

export function endpointsOf(provider: Provider, transport: 'rpc' | 'rest'): Endpoint[] {
  const { key, category: ecosystem, chainId, headers, secrets } = provider
  const chain = caip2({ ecosystem, chainId })
  // One address may be two accounts, if headers tell them apart. No URL of a catalog has a fragment.
  const account = Object.keys(headers).length > 0 ? `#${key}` : ''
  return provider[transport].map(({ text, url }) => ({
    provider: key,
    chain,
    baseUrl: `${text}${account}`,
    url,
    headers,
    secrets,
  }))
}

/** A retired plan is sold for this long at most. */
const MAX_AGE_MS = 1_000

const Methods = z.record(z.string(), z.int().min(1))
const Headers = z.record(z.string(), z.string())

export type Catalog = ReturnType<typeof createCatalog>

/** `reach`: puts in the secrets of providers, and leaves out those that lack one. */
export function createCatalog({ prisma }: GatewayDatabase, now: () => Date, reach: ProviderSecrets) {
  const readPlans = cached(now, async () => {
    const rows = await prisma.plan.findMany({ orderBy: { id: 'asc' } })
    const list = rows.map((row): Plan => ({
      ...row,
      ecosystem: Ecosystem.parse(row.ecosystem),
      amount: BigInt(row.amount.toFixed()),
      transferMethods: transferMethodsOf(row),
    }))
    const byId = new Map(list.map((plan) => [plan.id, plan]))
    return { list, find: (id: number) => byId.get(id) }
  })
  const readProviders = cached(now, async () => {
    const rows = await prisma.provider.findMany({
      where: { active: true },
      orderBy: [{ position: 'asc' }, { id: 'asc' }],
    })
    const list: Provider[] = await reach(
      rows.map((row) => ({
        ...row,
        category: Ecosystem.parse(row.category),
        methods: Methods.parse(row.methods),
        headers: Headers.parse(row.headers),
      })),
    )
    const routes = routesOf(list)
    const findRoute = (category: string, chainId: string, transport: 'rpc' | 'rest') =>
      routes.get(routeKey(category, chainId, transport))
    return { list, findRoute }
  })
  const readChains = cached(now, async () => {
    const [plans, providers] = await Promise.all([readPlans(), readProviders()])
    return chainsOf(providers.list, plans.list)
  })

  return {
    /** The plans and the providers, each as of one reading. */
    readPlans,
    readProviders,
    readChains,
    getActivePlans: async () => (await readPlans()).list.filter((plan) => plan.active),
    /** Includes retired plans, whose credits can still be spent. */
    findPlan: async (id: number) => (await readPlans()).find(id),
    getProviders: async () => (await readProviders()).list,
    findProviders: async (category: string, chainId: string) =>
      (await readProviders()).list.filter(
        (provider) => provider.category === category && provider.chainId === chainId,
      ),
  }
}

/** Without the token's EIP-712 domain no client can sign an EIP-3009 authorization. */
/** See {@link Plan}. */
export function transferMethodsOf(row: {
  ecosystem: string
  assetName: string | null
  assetVersion: string | null
  transferMethods: string[]
}): readonly TransferMethod[] {
  if (row.ecosystem !== 'evm') return []
  if (row.transferMethods.length > 0) return z.array(TransferMethod).parse(row.transferMethods)
  return row.assetName !== null && row.assetVersion !== null ? ['eip3009', 'permit2'] : ['permit2']
}

function routesOf(providers: readonly Provider[]) {
  const routes = new Map<string, Route>()
  for (const transport of ['rpc', 'rest'] as const)
    for (const provider of providers) {
      const endpoints = endpointsOf(provider, transport)
      const [first] = endpoints
      if (!first) continue
      const key = routeKey(provider.category, provider.chainId, transport)
      const route = routes.get(key)
      routes.set(key, {
        provider: route?.provider ?? provider,
        chain: first.chain,
        endpoints: [...(route?.endpoints ?? []), ...endpoints],
      })
    }
  return routes
}
const routeKey = (category: string, chainId: string, transport: 'rpc' | 'rest') =>
  `${transport} ${category} ${chainId}`

/** Shares one read for MAX_AGE_MS. A failed read is not cached. */
function cached<T>(now: () => Date, read: () => Promise<T>): () => Promise<T> {
  let latest: { at: number; value: Promise<T> } | undefined
  return () => {
    const at = now().getTime()
    if (latest && at >= latest.at && at - latest.at < MAX_AGE_MS) return latest.value
    const reading = { at, value: read() }
    latest = reading
    reading.value.catch(() => {
      if (latest === reading) latest = undefined
    })
    return reading.value
  }
}
