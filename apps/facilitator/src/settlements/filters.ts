import { findNetwork, type SettlementsQuery } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { canonicalAddress } from '../networks/canonical-address'
import { type Families, type Network } from '../networks/network'
import { type SettlementStatus } from '../settlement/status'

/** As stored. The settlements that match all of them. */
export type Filters = {
  id?: bigint
  statuses?: readonly SettlementStatus[]
  network?: string
  /** The possible spellings. */
  assets?: readonly string[]
  payer?: string
  recipient?: string
  resource?: string
  clientId?: string
  /** The possible spellings of a hash. */
  hashes?: readonly string[]
  paymentIdentifier?: string
  /** The possible spellings. */
  nonces?: readonly string[]
  /** Both included. */
  from?: Date
  to?: Date
}

const statusesOf = {
  pending: ['claimed', 'signed'],
  settled: ['settled'],
  failed: ['failed'],
  reversed: ['reversed'],
} as const satisfies Record<NonNullable<SettlementsQuery['state']>, readonly SettlementStatus[]>

/** Networks that are no longer configured have settlements, too. @throws ApiError INVALID_REQUEST */
export function readFilters(
  query: Omit<SettlementsQuery, 'limit' | 'cursor'>,
  { networks, families }: { networks: readonly Network[]; families: Families },
): Filters {
  const network = query.network === undefined ? undefined : findNetwork(networks, query.network)
  const address = (text: string) =>
    (network ? network.family.parseAddress(text) : canonicalAddress(families, text)) ?? text
  if (query.nonce !== undefined && query.payer === undefined)
    throw new ApiError('INVALID_REQUEST', 'nonce: requires payer, because payers choose their nonces')
  const filters = defined({
    statuses: query.state && statusesOf[query.state],
    network: network?.name ?? query.network,
    assets: query.asset && assetSpellings(query.asset, families),
    payer: query.payer && address(query.payer),
    recipient: query.recipient && address(query.recipient),
    resource: query.resource,
    clientId: query.clientId,
    hashes: query.transaction && hashSpellings(query.transaction),
    paymentIdentifier: query.paymentIdentifier,
    nonces: query.nonce && [query.nonce, query.nonce.toLowerCase()],
    from: query.from && new Date(query.from),
    to: query.to && lastMoment(query.to),
  })
  if (filters.from && filters.to && filters.from > filters.to)
    throw new ApiError('INVALID_REQUEST', 'from: must not be later than to')
  return filters
}

/** EVM nodes write hashes in lower case, Cosmos nodes in upper case. */
export const hashSpellings = (hash: string): string[] => [hash, hash.toLowerCase(), hash.toUpperCase()]

const assetSpellings = (asset: string, families: Families) => [
  asset,
  ...Object.values(families).flatMap((family) => family.parseAsset(asset) ?? []),
]

const DAY_MS = 86_400_000

const lastMoment = (text: string) =>
  text.includes('T') ? new Date(text) : new Date(new Date(text).getTime() + DAY_MS - 1)

type Defined<T> = { [Key in keyof T]?: Exclude<T[Key], undefined | ''> }

const defined = <T extends object>(members: T): Defined<T> =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Defined<T>
