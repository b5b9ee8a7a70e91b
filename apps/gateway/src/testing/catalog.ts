import { CatalogFile } from '../catalog/file'
import { usdc } from './payment'

/** A plan that is sold on Base Sepolia for 0.01 USDC, unless `changes` say otherwise. */
export const planOf = (changes: Partial<CatalogFile['plans'][number]> = {}) => ({
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

export const providerOf = (
  changes: Partial<CatalogFile['providers'][number]> & Pick<CatalogFile['providers'][number], 'chain_id'>,
) => ({ provider_id: `provider-${changes.chain_id}`, category: 'evm' as const, ...changes })

type Given = { plans: ReturnType<typeof planOf>[]; providers: ReturnType<typeof providerOf>[] }

/** A catalog as its file would say it, with all that a file may leave out. */
export const catalogOf = (given: Given): CatalogFile => CatalogFile.parse(given)
