import { openGatewayDatabase, type GatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { stringify } from 'yaml'
import { catalogOf, planOf, providerOf } from '../testing/catalog'
import { applyCatalog, readCatalog } from './apply'

afterAll(closeAll)

const plan = planOf()
const provider = providerOf({ chain_id: '84532', rpc: ['https://node.example'] })

async function open(): Promise<GatewayDatabase> {
  const database = openGatewayDatabase({ url: await migratedDatabase('gateway'), poolSize: 1 })
  closeLater(() => database.close())
  return database
}
const contentsOf = async ({ pool }: GatewayDatabase) => ({
  plans: (await pool.query('SELECT * FROM pricing_plans ORDER BY id')).rows.map(withoutTimes),
  providers: (await pool.query('SELECT * FROM providers ORDER BY id')).rows.map(withoutTimes),
})
const withoutTimes = ({ updated_at, ...row }: Record<string, unknown>) => {
  expect(updated_at).toBeInstanceOf(Date)
  return row
}

describe('a catalog file', () => {
  test('is read, with what it leaves out', () => {
    expect(readCatalog(stringify({ plans: [plan], providers: [provider] }))).toEqual({
      plans: [{ ...plan, max_timeout_seconds: 60, active: true }],
      providers: [{ ...provider, rest: [], description: '', methods: {}, active: true }],
    })
  })

  test.each([
    ['is no YAML', 'plans: ['],
    ['is a list', '[]'],
    ['is empty', ''],
    ['lacks its providers', stringify({ plans: [plan] })],
  ])('that %s is refused', (_, text) => expect(() => readCatalog(text)).toThrow(Error))

  test.each([
    ['an amount as a number', { amount: 10000 }],
    ['an amount with an exponent', { amount: '1e4' }],
    ['an amount in hexadecimal', { amount: '0x10' }],
    ['an amount of zero', { amount: '0' }],
    ['an amount below zero', { amount: '-1' }],
    ['an amount of 10^80', { amount: `1${'0'.repeat(80)}` }],
    ['credits of zero', { credits: 0 }],
    ['credits in parts', { credits: 1.5 }],
    ['an id of zero', { id: 0 }],
    ['an id beyond the database’s', { id: 2 ** 31 }],
    ['an asset that is no address', { asset_address: '0x12' }],
    ['a recipient that is no address', { pay_to: 'alice' }],
    ['an unknown ecosystem', { ecosystem: 'solana' }],
    ['a member nobody knows', { colour: 'red' }],
    ['a timeout of a second', { max_timeout_seconds: 1 }],
  ])('with %s is refused, and the field is named', (_, changes) => {
    const text = stringify({ plans: [{ ...plan, ...changes }], providers: [provider] })
    const [field] = Object.keys(changes)
    expect(() => readCatalog(text)).toThrow(
      new RegExp(`plans\\.0(\\.${field!}|: Unrecognized key: "${field!}")`),
    )
  })

  test.each([
    ['a base URL that is none', { rpc: ['node.example'] }],
    ['a base URL of another scheme', { rest: ['file:///etc/passwd'] }],
    ['a method for nothing', { methods: { eth_call: 0 } }],
    ['a member nobody knows', { weight: 1 }],
  ])('with a provider that has %s is refused', (_, changes) => {
    const text = stringify({ plans: [plan], providers: [{ ...provider, ...changes }] })
    expect(() => readCatalog(text)).toThrow(/providers\.0/)
  })

  test('that says one plan or one provider twice is refused', () => {
    const twice = (changes: object) => stringify({ plans: [plan], providers: [provider], ...changes })
    expect(() => readCatalog(twice({ plans: [plan, planOf({ credits: 5 })] }))).toThrow(/two plans/)
    expect(() => readCatalog(twice({ providers: [provider, provider] }))).toThrow(/same provider twice/)
    const elsewhere = { ...provider, chain_id: '1' }
    expect(readCatalog(twice({ providers: [provider, elsewhere] })).providers).toHaveLength(2)
  })
})

describe('applying a catalog', () => {
  const catalog = catalogOf({
    plans: [plan, planOf({ id: 2, amount: '9'.repeat(78) })],
    providers: [provider, { ...provider, provider_id: 'other' }, { ...provider, chain_id: '1' }],
  })

  test('twice changes nothing', async () => {
    const database = await open()
    await applyCatalog(database, catalog)
    const before = await contentsOf(database)
    await applyCatalog(database, catalog)
    expect(await contentsOf(database)).toEqual(before)
    expect(before.plans.map(({ amount }) => amount)).toEqual(['10000', '9'.repeat(78)])
    expect(before.providers).toHaveLength(3)
  })

  test('writes EVM addresses in their canonical spelling', async () => {
    const database = await open()
    const [asset_address, pay_to] = [plan.asset_address.toLowerCase(), plan.pay_to.toLowerCase()]
    await applyCatalog(database, catalogOf({ plans: [planOf({ asset_address, pay_to })], providers: [] }))
    expect((await contentsOf(database)).plans).toEqual([
      expect.objectContaining({ asset_address: plan.asset_address, pay_to: plan.pay_to }),
    ])
  })

  test('retires what the file leaves out, and deletes none of it', async () => {
    const database = await open()
    const activity = async () => {
      const { plans, providers } = await contentsOf(database)
      return [plans.map(({ active }) => active), providers.map(({ active }) => active)]
    }
    await applyCatalog(database, catalog)
    await applyCatalog(database, { plans: [catalog.plans[1]!], providers: [catalog.providers[0]!] })
    expect(await activity()).toEqual([
      [false, true],
      [true, false, false],
    ])
    await applyCatalog(database, { plans: [], providers: [] })
    expect(await activity()).toEqual([
      [false, false],
      [false, false, false],
    ])
    await applyCatalog(database, catalog)
    expect(await activity()).toEqual([
      [true, true],
      [true, true, true],
    ])
  })

  test('changes all or nothing', async () => {
    const database = await open()
    await applyCatalog(database, catalog)
    const before = await contentsOf(database)
    const broken = { plans: [], providers: [{ ...catalog.providers[0]!, description: '\u0000' }] }
    await expect(applyCatalog(database, broken)).rejects.toThrow()
    expect(await contentsOf(database)).toEqual(before)
  })
})
