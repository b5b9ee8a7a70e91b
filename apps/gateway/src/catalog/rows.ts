import { families } from '@tollgate/chains'
import { type GatewayModels } from '@tollgate/database'
import { type CatalogFile } from './catalog-file'

type Columns<Row> = Omit<Row, 'createdAt' | 'updatedAt'>

/** Addresses in canonical spelling. */
export type PlanRow = Omit<Columns<GatewayModels.Plan>, 'amount'> & { amount: string }
export type ProviderRow = Omit<Columns<GatewayModels.Provider>, 'id' | 'methods' | 'headers'> & {
  methods: Weights
  headers: Record<string, string>
}
type Weights = Record<string, number>

/** File field -> column, for the columns that a file can change. */
export const planFields = {
  plan_name: 'name',
  network: 'network',
  chain_id: 'chainId',
  ecosystem: 'ecosystem',
  asset_address: 'asset',
  asset_name: 'assetName',
  asset_version: 'assetVersion',
  amount: 'amount',
  decimals: 'decimals',
  display_denom: 'displayDenom',
  credits: 'credits',
  pay_to: 'payTo',
  max_timeout_seconds: 'maxTimeoutSeconds',
  transfer_methods: 'transferMethods',
} as const satisfies Record<string, keyof PlanRow>

export const planRow = (plan: CatalogFile['plans'][number]): PlanRow => ({
  id: plan.id,
  name: plan.plan_name,
  network: plan.network,
  chainId: plan.chain_id,
  ecosystem: plan.ecosystem,
  asset: families[plan.ecosystem]?.parseAsset(plan.asset_address) ?? plan.asset_address,
  assetName: plan.asset_name ?? null,
  assetVersion: plan.asset_version ?? null,
  amount: plan.amount,
  decimals: plan.decimals,
  displayDenom: plan.display_denom,
  credits: plan.credits,
  payTo: families[plan.ecosystem]?.parseAddress(plan.pay_to) ?? plan.pay_to,
  maxTimeoutSeconds: plan.max_timeout_seconds,
  transferMethods: plan.transfer_methods,
  active: plan.active,
})

export const storedPlan = (row: Columns<GatewayModels.Plan>): PlanRow => ({
  ...row,
  amount: row.amount.toFixed(),
})

export const providerRows = (providers: CatalogFile['providers']): ProviderRow[] =>
  providers.map((provider, index) =>
    providerRow(provider, providers.slice(0, index + 1).filter(isOfChain(provider)).length),
  )

type CatalogProvider = CatalogFile['providers'][number]

const isOfChain = (one: CatalogProvider) => (other: CatalogProvider) =>
  one.category === other.category && one.chain_id === other.chain_id

const providerRow = (provider: CatalogProvider, position: number): ProviderRow => ({
  key: provider.provider_id,
  category: provider.category,
  chainId: provider.chain_id,
  network: provider.network ?? null,
  rpc: provider.rpc,
  rest: provider.rest,
  headers: provider.headers,
  description: provider.description,
  methods: Object.fromEntries(Object.entries(provider.methods).filter(([, weight]) => weight !== 1)),
  notServed: [...new Set(provider.not_served)].sort(),
  position,
  active: provider.active,
})

export const storedProvider = (row: Omit<Columns<GatewayModels.Provider>, 'id'>): ProviderRow => ({
  ...row,
  methods: row.methods as Weights,
  headers: row.headers as ProviderRow['headers'],
})
