import {
  caip2,
  PaymentRequirements,
  x402V1Networks,
  type DiscoveredResource,
  type DiscoveredResourceV2,
  type DiscoveryQuery,
} from '@tollgate/protocol'
import { type Network } from '../networks/network'
import { type Networks } from '../networks/networks'
import { type Discovered, type Payable } from './discovery-sql'
import { type ResourceStore } from './store'

const { description, mimeType, maxTimeoutSeconds } = PaymentRequirements.shape
const USUAL_TIMEOUT_SECONDS = 60

/**
 * Lists the resources that can be paid now, in the format of the server's x402 version. A server responds to
 * clients of its own version only, so each resource is in one of the two lists.
 */
export function createDiscovery(store: Pick<ResourceStore, 'discover'>, networks: Networks) {
  async function discover(x402Version: number, query: DiscoveryQuery, known: readonly Network[]) {
    const { offset, limit } = query
    const payTo = query.payTo === undefined ? undefined : recipientOf(query.payTo, known)
    const shown = isAnswerable(query) && payTo !== null ? known.filter(isWanted(query.network, networks)) : []
    // A query without matches is as expensive as a full one.
    if (shown.length === 0) return { resources: [], pagination: { limit, offset, total: 0 } }
    const { total, resources } = await store.discover({
      x402Version,
      networks: shown.map(({ name }) => name),
      withDomain: shown.filter(({ ecosystem }) => ecosystem === 'evm').map(({ name }) => name),
      payTo: payTo ?? undefined,
      offset,
      limit,
    })
    return { resources, pagination: { limit, offset, total } }
  }

  return {
    /**
     * Omits networks that version 1 does not know or maps to other chains: one such entry invalidates a
     * client's whole list.
     */
    async v1(query: DiscoveryQuery) {
      const known = networks.all.filter(({ name, chainId }) => x402V1Networks.get(name) === chainId)
      const { resources, pagination } = await discover(1, query, known)
      return { x402Version: 1, items: resources.map(itemOf), pagination }
    },

    async v2(query: DiscoveryQuery) {
      const { resources, pagination } = await discover(2, query, networks.all)
      const names = new Map(networks.all.map((network) => [network.name, caip2(network)]))
      return {
        x402Version: 2,
        items: resources.map((resource) => itemOfV2(resource, (name) => names.get(name) ?? name)),
        pagination,
      }
    },
  }
}

const isAnswerable = ({ type = 'http', scheme = 'exact', extensions }: DiscoveryQuery) =>
  type === 'http' && scheme === 'exact' && extensions === undefined

const isWanted = (text: string | undefined, networks: Networks) => (network: Network) =>
  text === undefined || networks.find(text) === network

/** The canonical spelling of the first network that parses the address; null if none does. */
const recipientOf = (text: string, known: readonly Network[]) =>
  known.map(({ family }) => family.parseAddress(text)).find((address) => address !== undefined) ?? null

const itemOf = ({ resource, metadata, updatedAt, accepts }: Discovered): DiscoveredResource => ({
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
    ...domainOf(way),
  })),
  lastUpdated: updatedAt.toISOString(),
  metadata,
})

const itemOfV2 = (
  { resource, metadata, updatedAt, accepts }: Discovered,
  caip2Of: (network: string) => string,
): DiscoveredResourceV2 => ({
  resource,
  type: 'http',
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
  lastUpdated: updatedAt.toISOString(),
  metadata,
})

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
