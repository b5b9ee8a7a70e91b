import { families } from '@tollgate/chains'
import { SettlementsQuery } from '@tollgate/protocol'
import { type Network } from '../networks/network'
import { readFilters } from './filters'

const ADDRESS = '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC'
const networks = [
  { name: 'base-sepolia', ecosystem: 'evm', chainId: '84532', family: families.evm },
  { name: 'cosmos-devnet', ecosystem: 'cosmos', chainId: 'tollgate-devnet-1', family: families.cosmos },
] as unknown as Network[]

const read = (query: Record<string, string>) =>
  readFilters(SettlementsQuery.parse(query), { networks, families })

test.each<[query: Record<string, string>, filters: object]>([
  [{}, {}],
  [{ state: 'pending' }, { statuses: ['claimed', 'signed'] }],
  [{ state: 'settled' }, { statuses: ['settled'] }],
  [{ state: 'failed' }, { statuses: ['failed'] }],
  [{ state: 'reversed' }, { statuses: ['reversed'] }],
  [{ network: 'base-sepolia' }, { network: 'base-sepolia' }],
  [{ network: '84532' }, { network: 'base-sepolia' }],
  [{ network: 'cosmos:tollgate-devnet-1' }, { network: 'cosmos-devnet' }],
  [{ network: 'no-longer-configured' }, { network: 'no-longer-configured' }],
  [{ payer: ADDRESS.toLowerCase() }, { payer: ADDRESS }],
  [
    { payer: ADDRESS.toLowerCase(), network: 'base-sepolia' },
    { payer: ADDRESS, network: 'base-sepolia' },
  ],
  [{ recipient: ADDRESS.toLowerCase() }, { recipient: ADDRESS }],
  [{ recipient: 'no address' }, { recipient: 'no address' }],
  [{ resource: 'https://shop.example/a?b=C' }, { resource: 'https://shop.example/a?b=C' }],
  [{ clientId: 'client_1' }, { clientId: 'client_1' }],
  [{ transaction: '0xAb' }, { hashes: ['0xAb', '0xab', '0XAB'] }],
  [{ paymentIdentifier: 'order-0123456789' }, { paymentIdentifier: 'order-0123456789' }],
  [
    { payer: ADDRESS, nonce: '0xAb' },
    { payer: ADDRESS, nonces: ['0xAb', '0xab'] },
  ],
  [
    { from: '2026-01-31', to: '2026-01-31' },
    { from: new Date('2026-01-31T00:00:00.000Z'), to: new Date('2026-01-31T23:59:59.999Z') },
  ],
  [
    { from: '2026-01-31T01:00:00+02:00', to: '2026-01-31T12:00:00Z' },
    { from: new Date('2026-01-30T23:00:00.000Z'), to: new Date('2026-01-31T12:00:00.000Z') },
  ],
])('%j', (query, filters) => {
  expect(read(query)).toEqual(filters)
})

test('an asset is found in the spelling of each chain family', () => {
  expect(read({ asset: ADDRESS.toLowerCase() }).assets).toContain(ADDRESS)
  expect(read({ asset: 'utest' }).assets).toContain('utest')
})

test.each([
  [{ nonce: '0xab' }, 'nonce: requires payer'],
  [{ from: '2026-02-01', to: '2026-01-31' }, 'from: must not be later than to'],
])('%j is refused', (query, message) => {
  expect(() => read(query)).toThrow(message)
})
