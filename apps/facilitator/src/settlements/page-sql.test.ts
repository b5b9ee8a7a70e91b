import { type Filters } from './filters'
import { accessOf, type Access } from './page-sql'

const payer = '0xa'

test.each<[Filters, Access]>([
  [{}, 'client'],
  [{ statuses: ['settled'] }, 'client'],
  [{ clientId: 'client_1', from: new Date(0) }, 'client'],
  [{ network: 'base' }, 'asset'],
  [{ assets: ['0xb'], statuses: ['settled'] }, 'asset'],
  [{ statuses: ['failed'], network: 'base' }, 'status'],
  [{ statuses: ['reversed'] }, 'status'],
  [{ statuses: ['failed'], payer }, 'status'],
  [{ statuses: ['settled'], payer }, 'value'],
  [{ recipient: '0xc', network: 'base' }, 'value'],
  [{ resource: '/weather' }, 'value'],
  [{ statuses: ['claimed', 'signed'], payer }, 'pending'],
  [{ payer, nonces: ['0x1'] }, 'reference'],
  [{ hashes: ['0x1'], statuses: ['claimed', 'signed'] }, 'reference'],
  [{ paymentIdentifier: 'order-0123456789', payer }, 'reference'],
  [{ id: 7n }, 'reference'],
])('%j is found by %s', (filters, access) => {
  expect(accessOf({ userId: 1 }, filters)).toBe(access)
})

test.each<[Filters, Access]>([
  [{}, 'time'],
  [{ statuses: ['settled'], from: new Date(0) }, 'time'],
  [{ clientId: 'client_1' }, 'client'],
  [{ network: 'base' }, 'asset'],
])('%j of all users is found by %s', (filters, access) => {
  expect(accessOf('all', filters)).toBe(access)
})
