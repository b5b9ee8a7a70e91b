import { openGatewayDatabase, type GatewayDatabase } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { openSession, randomAddress, insertPayment } from '../testing/accounts'
import {
  catalogOf,
  cosmosPlanOf,
  planOf,
  providerOf,
  type CatalogEntries,
  openCatalog,
} from '../testing/catalog'
import { waitForLockWaiter } from '../testing/ledgers'
import { applyCatalog } from './apply'
import { type CatalogFile } from './catalog-file'

afterAll(closeAll)

const plan = planOf()
const most = (2n ** 256n - 1n).toString()
const provider = providerOf({ chain_id: '84532', rpc: ['https://node.example'] })

async function open() {
  const url = await migratedDatabase('gateway')
  return { ...beside(url), url }
}
function beside(url: string): GatewayDatabase {
  const database = openGatewayDatabase({ url, poolSize: 1 })
  closeLater(() => database.close())
  return database
}
const rowsOf = async ({ pool }: GatewayDatabase) => ({
  plans: (await pool.query<Row>('SELECT * FROM pricing_plans ORDER BY id')).rows,
  providers: (await pool.query<Row>('SELECT * FROM providers ORDER BY id')).rows,
})
type Row = Record<string, unknown>
type CatalogPlan = CatalogFile['plans'][number]

describe('applying a catalog', () => {
  const catalog = catalogOf({
    plans: [plan, planOf({ id: 2, amount: most })],
    providers: [provider, { ...provider, provider_id: 'other' }, { ...provider, chain_id: '1' }],
  })
  const none = { plans: [], providers: [] }

  test('twice changes nothing, not even updated_at', async () => {
    const database = await open()
    await applyCatalog(database, catalog)
    const before = await rowsOf(database)
    const sameAgain = catalogOf({
      plans: catalog.plans.map((same) => ({ ...same, pay_to: same.pay_to.toLowerCase() })),
      providers: catalog.providers.map((same) => ({ ...same, methods: { eth_call: 1 } })),
    })
    for (const again of [catalog, sameAgain]) expect(await applyCatalog(database, again)).toEqual([])
    expect(await rowsOf(database)).toEqual(before)
    expect(before.plans.map(({ amount }) => amount)).toEqual(['10000', most])
    expect(before.providers).toHaveLength(3)
  })

  test('writes EVM addresses in their canonical spelling', async () => {
    const database = await open()
    const [asset_address, pay_to] = [plan.asset_address.toLowerCase(), plan.pay_to.toLowerCase()]
    await applyCatalog(database, catalogOf({ plans: [planOf({ asset_address, pay_to })], providers: [] }))
    expect((await rowsOf(database)).plans).toEqual([
      expect.objectContaining({ asset_address: plan.asset_address, pay_to: plan.pay_to }),
    ])
  })

  test('reports each change, and a dry run reports the same and writes nothing', async () => {
    const database = await open()
    const apply = async (...given: Parameters<typeof catalogOf>) => {
      const before = await rowsOf(database)
      const preview = await applyCatalog(database, catalogOf(...given), { dryRun: true })
      expect(await rowsOf(database)).toEqual(before)
      expect(await applyCatalog(database, catalogOf(...given))).toEqual(preview)
      return preview
    }
    const retired = planOf({ id: 2, plan_name: 'Old', active: false })
    expect(await apply({ plans: [retired, plan], providers: [provider] })).toEqual([
      '+ plan 1 "Starter"',
      '+ plan 2 "Old", not sold',
      '+ provider "provider-84532" (evm, 84532)',
    ])
    const { asset_name, ...unnamed } = planOf({ credits: 200, pay_to: `0x${'7'.repeat(40)}` })
    expect(asset_name).toBe('USDC')
    const heavier = { ...provider, rest: ['https://rest.example'], methods: { eth_getLogs: 5 } }
    expect(
      await apply({
        plans: [unnamed as typeof plan, planOf({ id: 2, plan_name: 'Old' })],
        providers: [heavier],
      }),
    ).toEqual([
      '~ plan 1 asset_name: "USDC" -> null',
      '~ plan 1 credits: 100 -> 200',
      `~ plan 1 pay_to: "${plan.pay_to}" -> "0x${'7'.repeat(40)}"`,
      '+ plan 2 sold again',
      '~ provider "provider-84532" (evm, 84532) rest: [] -> ["https://rest.example"]',
      '~ provider "provider-84532" (evm, 84532) methods.eth_getLogs: 1 -> 5',
    ])
    expect(await apply(none)).toEqual([
      '- plan 1 retired',
      '- plan 2 retired',
      '- provider "provider-84532" (evm, 84532) retired',
    ])
    expect(await apply(none)).toEqual([])
    expect(await apply({ plans: [], providers: [provider] })).toEqual([
      '+ provider "provider-84532" (evm, 84532) used again',
      '~ provider "provider-84532" (evm, 84532) rest: ["https://rest.example"] -> []',
      '~ provider "provider-84532" (evm, 84532) methods.eth_getLogs: 5 -> 1',
    ])
  })

  test('reports the weight of a method named like a property of Object.prototype', async () => {
    const database = await open()
    const weighing = (methods: Record<string, number>) =>
      applyCatalog(database, catalogOf({ plans: [], providers: [{ ...provider, methods }] }))
    await weighing({ toString: 2 })
    expect(await weighing({ constructor: 3 })).toEqual([
      '~ provider "provider-84532" (evm, 84532) methods.constructor: 1 -> 3',
      '~ provider "provider-84532" (evm, 84532) methods.toString: 2 -> 1',
    ])
  })

  test('reports the methods that are not served, whatever their order', async () => {
    const database = await open()
    const refusing = (not_served: string[]) =>
      applyCatalog(database, catalogOf({ plans: [], providers: [{ ...provider, not_served }] }))
    await refusing([])
    expect(await refusing(['trace_block', 'debug_subscribe'])).toEqual([
      '~ provider "provider-84532" (evm, 84532) not_served: [] -> ["debug_subscribe","trace_block"]',
    ])
    expect(await refusing(['debug_subscribe', 'trace_block', 'trace_block'])).toEqual([])
    const { providers } = await rowsOf(database)
    expect(providers[0]!.not_served).toEqual(['debug_subscribe', 'trace_block'])
  })

  test('uses the providers of a chain in the order of the file, also of a later one', async () => {
    const database = await open()
    const other = { ...provider, provider_id: 'other' }
    const elsewhere = { ...provider, chain_id: '1' }
    const triedIn = async (...providers: CatalogEntries['providers']) => {
      const lines = await applyCatalog(database, catalogOf({ plans: [], providers }))
      const tried = await openCatalog(database, () => new Date()).findProviders('evm', '84532')
      return { lines, tried: tried.map(({ key }) => key) }
    }
    expect((await triedIn(provider, elsewhere, other)).tried).toEqual(['provider-84532', 'other'])
    expect(await triedIn(other, elsewhere, provider)).toEqual({
      lines: [
        '~ provider "other" (evm, 84532) position: 2 -> 1',
        '~ provider "provider-84532" (evm, 84532) position: 1 -> 2',
      ],
      tried: ['other', 'provider-84532'],
    })
    expect((await triedIn(elsewhere, other, provider)).lines).toEqual([])
  })

  test('keeps updated_at of unchanged rows', async () => {
    const database = await open()
    await applyCatalog(database, catalog)
    const before = await rowsOf(database)
    const [first, second] = catalog.plans as [CatalogPlan, CatalogPlan]
    await applyCatalog(database, { ...catalog, plans: [first, { ...second, credits: 7 }] })
    const after = await rowsOf(database)
    expect([after.plans[0], after.providers]).toEqual([before.plans[0], before.providers])
    expect(after.plans[1]!.updated_at).not.toEqual(before.plans[1]!.updated_at)
  })

  test('retires entries that the file omits, and deletes nothing', async () => {
    const database = await open()
    const activity = async () => {
      const { plans, providers } = await rowsOf(database)
      return [plans.map(({ active }) => active), providers.map(({ active }) => active)]
    }
    await applyCatalog(database, catalog)
    await applyCatalog(database, { plans: [catalog.plans[1]!], providers: [catalog.providers[0]!] })
    expect(await activity()).toEqual([
      [false, true],
      [true, false, false],
    ])
    await applyCatalog(database, none)
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

  test('is atomic', async () => {
    const database = await open()
    await applyCatalog(database, catalog)
    const before = await rowsOf(database)
    const broken = { plans: [], providers: [{ ...catalog.providers[0]!, description: '\u0000' }] }
    await expect(applyCatalog(database, broken)).rejects.toThrow()
    expect(await rowsOf(database)).toEqual(before)
  })

  test.each([false, true])('waits for a concurrent run of three seconds (dry run: %s)', async (dryRun) => {
    const database = await open()
    const { pool } = beside(database.url)
    const other = await pool.connect()
    await other.query('BEGIN')
    await other.query("SELECT pg_advisory_xact_lock(hashtext('tollgate catalog'))")
    const applying = applyCatalog(database, catalog, { dryRun })
    await Promise.race([waitForLockWaiter(beside(database.url).pool), applying])
    await other.query('SELECT pg_sleep(3)')
    await other.query('COMMIT')
    other.release()
    expect(await applying).toHaveLength(5)
    expect((await rowsOf(database)).plans).toHaveLength(dryRun ? 0 : 2)
  })

  test('ten times at once reports each change once', async () => {
    const database = await open()
    const others = Array.from({ length: 10 }, () => beside(database.url))
    const results = await Promise.all(others.map((other) => applyCatalog(other, catalog)))
    expect(results.filter((lines) => lines.length > 0)).toHaveLength(1)
    const flips = await Promise.all(
      others.map((other, index) => applyCatalog(other, index % 2 ? catalog : none)),
    )
    // Each run with changes found the opposite state, so the signs alternate.
    const signs = flips.filter((lines) => lines.length > 0).map((lines) => lines[0]![0])
    const [retirements, returns] = ['-', '+'].map((sign) => signs.filter((other) => other === sign).length)
    expect(retirements).toBeGreaterThan(0)
    expect([0, 1]).toContain(retirements! - returns!)
  })
})

describe('the asset of a plan', () => {
  const changed = { asset_address: `0x${'5'.repeat(40)}`, decimals: 18, network: 'base', chain_id: '8453' }
  const applyTo = (database: GatewayDatabase, changes: object, dryRun = false) =>
    applyPlan(database, planOf(changes), dryRun)
  const applyPlan = (database: GatewayDatabase, plan: CatalogEntries['plans'][number], dryRun: boolean) =>
    applyCatalog(database, catalogOf({ plans: [plan], providers: [] }), { dryRun })
  const uses: [string, (database: GatewayDatabase) => unknown][] = [
    ['a session', ({ pool }) => openSession(pool, randomAddress())],
    ['an open payment', ({ pool }) => insertPayment(pool, { wallet: randomAddress(), credits: 1 })],
    [
      'an account',
      ({ pool }) =>
        pool.query('INSERT INTO accounts (wallet, pricing_plan_id) VALUES ($1, 1)', [randomAddress()]),
    ],
  ]

  test.each(uses)('cannot change once there is %s on it; other fields can', async (_, use) => {
    const database = await open()
    await applyTo(database, {})
    await use(database)
    const before = await rowsOf(database)
    for (const dryRun of [true, false]) {
      await expect(applyTo(database, changed, dryRun)).rejects.toThrow(
        /plan 1: network, chain_id, asset_address, decimals cannot change.*new id/,
      )
      await expect(applyPlan(database, cosmosPlanOf(), dryRun)).rejects.toThrow(
        'plan 1: network, chain_id, ecosystem, asset_address cannot',
      )
    }
    expect(await rowsOf(database)).toEqual(before)
    const rest = {
      plan_name: 'New',
      amount: '1',
      credits: 7,
      pay_to: `0x${'6'.repeat(40)}`,
      asset_version: '3',
    }
    expect(await applyTo(database, rest)).toHaveLength(5)
  })

  test('can change while the plan is unused', async () => {
    const database = await open()
    await applyTo(database, {})
    expect(await applyTo(database, changed, true)).toHaveLength(4)
    expect(await applyTo(database, changed)).toHaveLength(4)
  })
})
