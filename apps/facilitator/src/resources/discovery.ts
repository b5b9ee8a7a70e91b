import {
  caip2,
  PaymentRequirements,
  x402V1Networks,
  type DiscoveredResource,
  type DiscoveredResourceV2,
  type DiscoveryMerchantQuery,
  type DiscoveryQuery,
  type DiscoverySearchQuery,
} from '@tollgate/protocol'
import { readServiceMetadata } from '../catalog/service-metadata'
import { visibleObject } from '../catalog/visible-text'
import { type Network } from '../networks/network'
import { type Networks } from '../networks/networks'
import { type Discovered, type Payable } from './discovery-sql'
import { originOf, type OriginStore } from './origins'
import { type ResourceStore, type Wanted } from './store'

const { description, maxTimeoutSeconds } = PaymentRequirements.shape
const mimeType = PaymentRequirements.shape.mimeType.unwrap().unwrap()
const USUAL_TIMEOUT_SECONDS = 60

type Filters = Pick<DiscoveryQuery, 'type' | 'network' | 'payTo' | 'scheme' | 'extensions'>
type Page = { offset: number; limit: number }

const NOTHING = { total: 0, isPartial: false, resources: [] }
const MAX_SEARCH_PAGE = 100

/**
 * Lists the resources that can be paid now, in the format of the server's x402 version. A server responds to
 * clients of its own version only, so each resource is listed for one version.
 */
export function createDiscovery(parts: {
  store: Pick<ResourceStore, 'discover' | 'search'>
  origins: Pick<OriginStore, 'statesOf'>
  networks: Networks
  now: () => Date
}) {
  const { store, origins, networks, now } = parts

  /** Undefined if nothing can match. A query without matches is as expensive as a full one. */
  function wantedBy(x402Version: 1 | 2, filters: Filters, page: Page): Wanted | undefined {
    const known = x402Version === 1 ? networks.all.filter(isKnownToV1) : networks.all
    const payTo = filters.payTo === undefined ? undefined : recipientOf(filters.payTo, known)
    const { type, scheme = 'exact', extensions } = filters
    const shown = known.filter(isWanted(filters.network, networks))
    if (payTo === null || shown.length === 0 || scheme !== 'exact' || !isType(type)) return undefined
    if (extensions !== undefined && (extensions !== 'bazaar' || x402Version === 1)) return undefined
    return {
      x402Version,
      networks: shown.map(({ name }) => name),
      withDomain: shown.filter(({ ecosystem }) => ecosystem === 'evm').map(({ name }) => name),
      payTo,
      type,
      // No registered resource has an extension, and each is of type http.
      includeRegistered: extensions === undefined && type !== 'mcp',
      ...page,
      now: now(),
    }
  }

  async function itemsOf(x402Version: 1 | 2, found: readonly Discovered[]) {
    const isVerified = await verifiedAmong(found)
    const resources = found.map((resource) => ({ ...resource, metadata: visibleObject(resource.metadata) }))
    const names = new Map(networks.all.map((network) => [network.name, caip2(network)]))
    return x402Version === 1
      ? resources.map((resource) => itemOf(resource, isVerified(resource)))
      : resources.map((resource) =>
          itemOfV2(resource, isVerified(resource), (name) => names.get(name) ?? name),
        )
  }

  async function verifiedAmong(resources: readonly Discovered[]) {
    const wanted = resources.flatMap(({ userId, resource }) => {
      const origin = originOf(resource)
      return origin === undefined ? [] : [{ userId, origin }]
    })
    const states = await origins.statesOf(wanted, now())
    const verified = new Set(
      states.flatMap(({ userId, origin, verifiedAt }) => (verifiedAt ? [`${userId} ${origin}`] : [])),
    )
    return ({ userId, resource }: Discovered) => verified.has(`${userId} ${originOf(resource)}`)
  }

  async function list(x402Version: 1 | 2, filters: Filters, page: Page) {
    const wanted = wantedBy(x402Version, filters, page)
    const { total, resources } = wanted ? await store.discover(wanted) : NOTHING
    const items = await itemsOf(x402Version, resources)
    return { items, pagination: { limit: page.limit, offset: page.offset, total } }
  }

  return {
    /**
     * Version 1 omits networks that it does not know or maps to other chains: one such entry invalidates a
     * client's whole list.
     */
    async resources(x402Version: 1 | 2, query: DiscoveryQuery) {
      const { offset, limit, ...filters } = query
      return { x402Version, ...(await list(x402Version, filters, { offset, limit })) }
    },

    async merchant({ payTo, x402Version, offset, limit }: DiscoveryMerchantQuery) {
      const version = x402Version === '1' ? 1 : 2
      const { items, pagination } = await list(version, { payTo }, { offset, limit })
      return { x402Version: version, payTo, resources: items, pagination }
    },

    async search({ query, x402Version, cursor, limit: most, ...filters }: DiscoverySearchQuery) {
      const version = x402Version === '1' ? 1 : 2
      const limit = Math.min(most, MAX_SEARCH_PAGE)
      const wanted = wantedBy(version, filters, { offset: cursor, limit })
      const { total, isPartial, resources } = wanted ? await store.search(wanted, query) : NOTHING
      const next = cursor + limit
      return {
        x402Version: version,
        resources: await itemsOf(version, resources),
        partialResults: isPartial,
        pagination: { limit, cursor: next < total ? String(next) : null },
      }
    },
  }
}

const isKnownToV1 = ({ name, chainId }: Network) => x402V1Networks.get(name) === chainId

const isType = (type: string | undefined): type is 'http' | 'mcp' | undefined =>
  type === undefined || type === 'http' || type === 'mcp'

const isWanted = (text: string | undefined, networks: Networks) => (network: Network) =>
  text === undefined || networks.find(text) === network

/** The canonical spelling of the first network that parses the address; null if none does. */
const recipientOf = (text: string, known: readonly Network[]) =>
  known.map(({ family }) => family.parseAddress(text)).find((address) => address !== undefined) ?? null

const itemOf = (discovered: Discovered, verified: boolean): DiscoveredResource => {
  const { source, resource, metadata, declared, updatedAt, accepts } = discovered
  return {
    resource,
    type: 'http',
    x402Version: 1,
    accepts: accepts.map((way) => ({
      scheme: 'exact',
      network: way.network,
      maxAmountRequired: way.maxAmountRequired,
      resource,
      description: description.catch('').parse(metadata.description),
      mimeType: mimeType.catch('').parse(metadata.mimeType),
      payTo: way.payTo,
      maxTimeoutSeconds: timeoutOf(metadata),
      asset: way.asset,
      ...(declared ? { outputSchema: declared } : {}),
      ...domainOf(way),
    })),
    lastUpdated: updatedAt.toISOString(),
    metadata: declared ? {} : metadata,
    source,
    verified,
  }
}

function itemOfV2(
  discovered: Discovered,
  verified: boolean,
  caip2Of: (network: string) => string,
): DiscoveredResourceV2 {
  const { source, resource, type, metadata, declared, updatedAt, accepts } = discovered
  return {
    resource,
    type,
    x402Version: 2,
    accepts: accepts.map((way) => ({
      scheme: 'exact',
      network: caip2Of(way.network),
      amount: way.maxAmountRequired,
      asset: way.asset,
      payTo: way.payTo,
      maxTimeoutSeconds: timeoutOf(metadata),
      ...domainOf(way),
    })),
    ...described(metadata),
    ...(declared ? { ...readServiceMetadata(metadata), extensions: { bazaar: declared } } : {}),
    lastUpdated: updatedAt.toISOString(),
    metadata: declared ? {} : metadata,
    source,
    verified,
  }
}

function described(metadata: Discovered['metadata']) {
  const { data: text } = description.safeParse(metadata.description)
  const { data: type } = mimeType.safeParse(metadata.mimeType)
  return {
    ...(text === undefined ? {} : { description: text }),
    ...(type === undefined ? {} : { mimeType: type }),
  }
}

const timeoutOf = (metadata: Discovered['metadata']) =>
  maxTimeoutSeconds.catch(USUAL_TIMEOUT_SECONDS).parse(metadata.maxTimeoutSeconds)

const domainOf = ({ name, version }: Payable) =>
  name === null || version === null ? {} : { extra: { name, version } }
