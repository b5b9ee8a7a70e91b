import { type GatewayDatabase } from '@tollgate/database'
import { createMetrics } from '@tollgate/service'
import { type z } from 'zod'
import { createCatalog } from '../catalog/catalog'
import { CatalogFile } from '../catalog/catalog-file'
import { createProviderSecrets } from '../catalog/secrets/provider-secrets'
import { readableLog } from './log'
import { usdc } from './payment'

export type CatalogEntries = z.input<typeof CatalogFile>
type PlanEntry = CatalogEntries['plans'][number]
type ProviderEntry = CatalogEntries['providers'][number]

export const planOf = (changes: Partial<PlanEntry> = {}) => ({
  id: 1,
  plan_name: 'Starter',
  network: 'base-sepolia',
  chain_id: '84532',
  ecosystem: 'evm' as const,
  asset_address: usdc,
  asset_name: 'USDC',
  asset_version: '2',
  amount: '10000',
  decimals: 6,
  display_denom: 'USDC',
  credits: 100,
  pay_to: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  ...changes,
})

export const cosmosPlanOf = (changes: Partial<PlanEntry> = {}) => ({
  id: 1,
  plan_name: 'Starter',
  network: 'osmosis-1',
  chain_id: 'osmosis-1',
  ecosystem: 'cosmos' as const,
  asset_address: 'uosmo',
  amount: '10000',
  decimals: 6,
  display_denom: 'OSMO',
  credits: 100,
  pay_to: 'osmo1qurswpc8qurswpc8qurswpc8qurswpc8mg52kn',
  ...changes,
})

export const providerOf = (changes: Partial<ProviderEntry> & Pick<ProviderEntry, 'chain_id'>) => ({
  provider_id: `provider-${changes.chain_id}`,
  category: 'evm' as const,
  ...changes,
})

export const catalogOf = (given: CatalogEntries): CatalogFile => CatalogFile.parse(given)

/** The catalog as a gateway without secrets reads it. */
export const openCatalog = (database: GatewayDatabase, now: () => Date) =>
  createCatalog(
    database,
    now,
    createProviderSecrets({
      variables: {},
      isProduction: false,
      logger: readableLog().logger,
      metrics: createMetrics(),
    }),
  )
