import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DEFAULT_ASSETS } from '@x402/evm'
import { getAddress, TypedDataEncoder } from 'ethers'
import { parse } from 'yaml'
import { parseCatalog } from '../../../apps/gateway/src/catalog/catalog-file'
import { root } from './kustomize'
import { withRecipients } from './recipients'
import { plausible, startWith } from './settings'

const textOf = (file: string) => readFileSync(join(root, 'k8s', file), 'utf8')

type Network = {
  name: string
  ecosystem: string
  chain_id: string
  fee_denom?: string
  max_gas?: string
  max_fee_per_gas?: string
  gas_price?: string
  gasless_max_fee?: string
  signer_balance_warning?: string
  max_fees_per_day?: string
  assets: { asset: string; decimals: string; min_amount?: string }[]
}
const networksIn = (file: string) => parse(textOf(file), { schema: 'failsafe' }) as Network[]

const networks = networksIn('networks/networks.yaml')
const { plans, providers } = parseCatalog(withRecipients(textOf('networks/catalog.yaml')))

/** What `DOMAIN_SEPARATOR()` of each token returns on its chain, as published by several projects that check it. */
const domainSeparators: Record<string, string> = {
  base: '0x02fa7265e7c5d81118673727957699e4d68f74cd74b7db77da710fe8a2c7834f',
  polygon: '0xcaa2ce1a5703ccbe253a34eb3166df60a705c561b44b192061e28f2a985be2ca',
  arbitrum: '0x08d11903f8419e68b1b8721bcbe2e9fc68569122a77ef18c216f10b3b5112c78',
  optimism: '0x26d9c34bb1a1c312f69c53b2d93b8be20faafba63af2438c6811713c9b1f933f',
  avalanche: '0xbbea200329a938bc3438984a49cb0732e66d66d7bd59c127abacc1710e77f7b3',
  ethereum: '0x06c37168a7db5138defc7866392bb87a741f9b3d104deb5094588ce041cae335',
  sei: '0x0a19136106ae98d2c245cbbd451f3cb2bbbb1670e1ee191abacb5a5e255c0255',
  world: '0x936533d5f85622a8261854e20bb87f4e849dde486f429bc1fb66202b7cde09ec',
  monad: '0xfe22123edc0dd4aeb912eb7948c5f0e531592c2053b3067612f427db342c93c6',
}

test('the facilitator takes the networks in production', () => {
  const text = textOf('networks/networks.yaml')
  const names = [...text.matchAll(/: env:(\w+)$/gm)].map(([, name = '']) => name)
  const variables = Object.fromEntries(
    ['DATABASE_URL', 'REDIS_URL', 'JWT_SECRET', ...names].map((name) => [name, plausible(name)]),
  )
  const path = '/etc/tollgate/networks.yaml'
  const input = { NODE_ENV: 'production', PUBLIC_URL: 'https://facilitator.example', NETWORKS_FILE: path }
  expect(() =>
    startWith('facilitator', { variables: { ...variables, ...input }, files: { [path]: text } }),
  ).not.toThrow()
  expect(new Set(names).size).toBe(2 * networks.length)
})

test.each(networks.map((network) => [network.name, network] as const))(
  '%s has a plan and a provider of the same chain, asset and decimals',
  (name, { ecosystem, chain_id, assets }) => {
    expect(plans.filter(({ network }) => network === name)).toMatchObject([
      {
        ecosystem,
        chain_id,
        asset_address: assets[0]?.asset,
        decimals: Number(assets[0]?.decimals),
      },
    ])
    expect(providers.filter((provider) => provider.chain_id === chain_id)).toHaveLength(1)
  },
)

test.each(Object.entries(domainSeparators))(
  "%s has the token's address with its checksum, and its EIP-712 domain",
  (name, separator) => {
    const plan = plans.find(({ network }) => network === name)
    const { asset_address: token = '', chain_id = '', asset_name = '', asset_version = '' } = plan ?? {}
    expect(token).toBe(getAddress(token.toLowerCase()))
    const domain = { name: asset_name, version: asset_version, chainId: chain_id, verifyingContract: token }
    expect(TypedDataEncoder.hashDomain(domain)).toBe(separator)
    const [known] = DEFAULT_ASSETS[`eip155:${chain_id}`] ?? []
    if (known) expect([known.asset, known.name, known.version]).toEqual([token, asset_name, asset_version])
  },
)

test('every EVM network has its domain checked', () => {
  const evm = networks.filter(({ ecosystem }) => ecosystem === 'evm')
  expect(evm.map(({ name }) => name).sort()).toEqual(Object.keys(domainSeparators).sort())
})

test('nothing is sold for USDC of Noble, which ends', () => {
  const hash = createHash('sha256').update('transfer/channel-750/uusdc').digest('hex').toUpperCase()
  const assets = [
    ...networks.flatMap(({ assets }) => assets.map(({ asset }) => asset)),
    ...plans.map((plan) => plan.asset_address),
  ]
  expect(assets.filter((asset) => asset === 'uusdc' || asset === `ibc/${hash}`)).toEqual([])
  expect(networks.map(({ name }) => name).filter((name) => /noble/.test(name))).toEqual([])
})

/** The most that one settlement may reserve, with the defaults of apps/facilitator/networks.example.yaml. */
function reservedBy({ max_gas = '300000', max_fee_per_gas = '100000000000', ...network }: Network): bigint {
  if (network.ecosystem === 'evm') return BigInt(max_gas) * BigInt(max_fee_per_gas)
  // With the fee of a grant. Without gasless payments the signer pays nothing.
  const { gas_price: price, gasless_max_fee: fee } = network
  return fee === undefined ? 0n : BigInt(fee) + BigInt(Math.ceil(Number(max_gas) * Number(price)))
}
const SETTLEMENTS = 4n

test.each(networks.map((network) => [network.name, network] as const))(
  '%s warns of a balance while it pays for some settlements, and its limit a day pays for them too',
  (_, network) => {
    const { signer_balance_warning: warning = '0', max_fees_per_day: limit = '0' } = network
    // A signer that pays nothing has no balance to warn of.
    expect(warning === '0').toBe(reservedBy(network) === 0n)
    expect(BigInt(warning)).toBeGreaterThanOrEqual(SETTLEMENTS * reservedBy(network))
    expect(BigInt(limit)).toBeGreaterThanOrEqual(SETTLEMENTS * reservedBy(network))
  },
)

test('every plan sells for no less than the smallest payment of its network', () => {
  for (const { network, amount } of plans) {
    const [asset] = networks.find(({ name }) => name === network)?.assets ?? []
    const least = BigInt(asset?.min_amount ?? 10n ** BigInt(Number(asset?.decimals) - 3))
    expect([network, BigInt(amount) >= least]).toEqual([network, true])
  }
  // A settlement on Ethereum costs dollars.
  expect(
    BigInt(networks.find(({ name }) => name === 'ethereum')?.assets[0]?.min_amount ?? 0),
  ).toBeGreaterThan(1_000_000n)
})

test('k8s/overlays/production serves networks of these', () => {
  for (const network of networksIn('overlays/production/networks.yaml'))
    expect(networks).toContainEqual(network)
})

test('docs/pricing.md names the plans whose asset public clients refuse by default', () => {
  const listed = ({ chain_id, asset_address }: (typeof plans)[number]) =>
    DEFAULT_ASSETS[`eip155:${chain_id}`]?.some(({ asset }) => asset === asset_address) ?? false
  const refused = plans.filter((plan) => plan.ecosystem === 'evm' && !listed(plan))
  const page = readFileSync(join(root, 'docs/pricing.md'), 'utf8').replaceAll(/\s+/g, ' ')
  expect(page).toContain(
    `**USDC on ${refused.map(({ plan_name }) => plan_name).join(' and ')} is not among them**`,
  )
})
