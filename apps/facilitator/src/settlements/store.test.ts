import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { settlementRows } from '../testing/settlement-rows'
import { type Filters } from './filters'
import { type Merchant } from './merchant-guard'
import { type SettlementRow } from './settlement'
import { createMerchantSettlementStore, type MerchantSettlementStore } from './store'

afterAll(closeAll)

let pool: Pool
let rows: ReturnType<typeof settlementRows>
let store: MerchantSettlementStore
beforeAll(async () => {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator') })
  closeLater(() => database.close())
  ;({ pool } = database)
  rows = settlementRows(pool)
  store = createMerchantSettlementStore(pool)
  for (const network of networks) await rows.asset(network)
})

const networks = ['base-sepolia', 'polygon']
const payers = ['0xa', '0xb']
const recipients = ['0xc', '0xd']
const resources = ['https://shop.example/weather', undefined]
const statuses = ['claimed', 'settled', 'failed', 'reversed'] as const

let emails = 0
async function newMerchant(keys = 2) {
  const userId = await rows.user(`${++emails}@example.com`)
  const clientIds = []
  for (let key = 0; key < keys; key++) clientIds.push(await rows.client(userId))
  return { userId, clientIds: clientIds as [string, string] }
}

/** One for each combination of values, with both keys, a minute apart. */
async function fill(clientIds: readonly string[]): Promise<bigint[]> {
  const ids: bigint[] = []
  for (const network of networks)
    for (const payer of payers)
      for (const recipient of recipients)
        for (const resource of resources)
          for (const status of statuses)
            ids.push(
              await rows.settlement(clientIds[ids.length % 2]!, {
                network,
                payer,
                recipient,
                ...(resource === undefined ? {} : { resource }),
                status,
                ageSeconds: 60 * (100 - ids.length),
                ...(status === 'failed' ? { errorReason: 'insufficient_funds' } : {}),
              }),
            )
  return ids
}

async function idsOf(merchant: Merchant, filters: Filters = {}, limit = 1_000): Promise<bigint[]> {
  return (await store.page(merchant, filters, { limit })).map(({ id }) => id)
}

/** Follows the pages, and does something between them. */
async function walk(merchant: Merchant, size: number, between: (page: number) => Promise<unknown>) {
  const seen: SettlementRow[] = []
  for (let page = 0; ; page++) {
    const after = seen.at(-1)
    const found = await store.page(merchant, {}, { after, limit: size })
    seen.push(...found)
    if (found.length < size) return seen.map(({ id }) => id)
    await between(page)
  }
}

describe('a page', () => {
  test('has exactly the settlements that match all filters, newest first, whatever it is found by', async () => {
    const { userId, clientIds } = await newMerchant()
    const stranger = await newMerchant()
    await fill(clientIds)
    await fill(stranger.clientIds)
    const all = await store.page({ userId }, {}, { limit: 1_000 })
    expect(all).toHaveLength(64)
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).sort((one, other) => Number(other - one)))
    const middle = all[32]!.claimedAt

    const choices: { [Name in keyof Filters]: [Filters[Name], (row: SettlementRow) => boolean] }[][] = [
      [{}, { network: ['polygon', ({ network }) => network === 'polygon'] }],
      [{}, { assets: [[USDC_ADDRESS], () => true] }, { assets: [['0x0'], () => false] }],
      [{}, { payer: ['0xa', ({ payer }) => payer === '0xa'] }],
      [{}, { recipient: ['0xd', ({ recipient }) => recipient === '0xd'] }],
      [{}, { resource: [resources[0]!, ({ resource }) => resource === resources[0]] }],
      [{}, { clientId: [clientIds[1], ({ clientId }) => clientId === clientIds[1]] }],
      [
        {},
        { from: [middle, ({ claimedAt }) => claimedAt >= middle] },
        { to: [middle, ({ claimedAt }) => claimedAt <= middle] },
      ],
      [
        {},
        { statuses: [['claimed', 'signed'], ({ status }) => status === 'claimed'] },
        { statuses: [['settled'], ({ status }) => status === 'settled'] },
        { statuses: [['failed'], ({ status }) => status === 'failed'] },
        { statuses: [['reversed'], ({ status }) => status === 'reversed'] },
      ],
    ]
    const combinations = choices.reduce<(typeof choices)[number]>(
      (combined, options) => combined.flatMap((one) => options.map((option) => ({ ...one, ...option }))),
      [{}],
    )
    for (const combination of combinations.filter((one) => Object.keys(one).length <= 3)) {
      const named = Object.entries(combination)
      const filters = Object.fromEntries(named.map(([name, [value]]) => [name, value])) as Filters
      const expected = all.filter((row) => named.every(([, [, matches]]) => matches(row)))
      expect([filters, await idsOf({ userId }, filters)]).toEqual([filters, expected.map(({ id }) => id)])
    }
  })

  test('has those of one key for the key, of all keys for its user, of all users for an admin', async () => {
    const [one, other] = [await newMerchant(), await newMerchant()]
    const ids = []
    for (const clientId of [...one.clientIds, ...other.clientIds]) ids.push(await rows.settlement(clientId))
    const [first, second, third, fourth] = ids as [bigint, bigint, bigint, bigint]
    expect(await idsOf({ clientId: one.clientIds[0] })).toEqual([first])
    expect(await idsOf({ userId: one.userId })).toEqual([second, first])
    expect(await idsOf({ userId: one.userId }, { clientId: other.clientIds[0] })).toEqual([])
    expect(await idsOf({ clientId: one.clientIds[0] }, { clientId: one.clientIds[1] })).toEqual([])
    expect((await idsOf('all')).slice(0, 4)).toEqual([fourth, third, second, first])
  })

  test('shows nothing of others by reference: by id, hash, payment identifier, payer and nonce', async () => {
    const [owner, stranger] = [await newMerchant(), await newMerchant()]
    const transactionId = await rows.transaction({
      status: 'mined',
      nonce: 77n,
      versions: ['0xold', '0xnew'],
    })
    const id = await rows.settlement(owner.clientIds[0], {
      payer: '0xreferenced',
      status: 'settled',
      transactionId,
      paymentIdentifier: 'order-0123456789',
    })
    const { rows: nonces } = await pool.query<{ nonce: string }>(
      'SELECT nonce FROM settlements WHERE id = $1',
      [id],
    )
    const references: Filters[] = [
      { id },
      { hashes: ['0xnew'] },
      { hashes: ['0xold'] },
      { paymentIdentifier: 'order-0123456789' },
      { payer: '0xreferenced', nonces: [nonces[0]!.nonce] },
    ]
    for (const reference of references) {
      expect([reference, await idsOf({ userId: owner.userId }, reference)]).toEqual([reference, [id]])
      for (const merchant of [{ userId: stranger.userId }, { clientId: owner.clientIds[1] }])
        expect(await idsOf(merchant, reference)).toEqual([])
    }
  })

  test('finds a settlement by an earlier transaction that failed, and by one of a third party', async () => {
    const { userId, clientIds } = await newMerchant()
    const failed = await rows.transaction({ status: 'final', nonce: 78n, versions: ['0xfailed'] })
    const superseded = await rows.transaction({
      status: 'superseded',
      nonce: 79n,
      versions: ['0xsuperseded'],
    })
    const id = await rows.settlement(clientIds[0], {
      status: 'settled',
      transactionId: superseded,
      transactionHash: '0xthird-party',
    })
    await rows.charge(failed, id, '5')
    for (const hash of ['0xfailed', '0xsuperseded', '0xthird-party'])
      expect(await idsOf({ userId }, { hashes: [hash] })).toEqual([id])
  })
})

describe('pages', () => {
  test('show each settlement once while others come, fail, settle and are claimed again', async () => {
    const { userId, clientIds } = await newMerchant()
    const ids: bigint[] = []
    for (let index = 0; index < 40; index++)
      ids.push(
        await rows.settlement(clientIds[index % 2]!, {
          status: 'failed',
          errorReason: 'insufficient_funds',
          ageSeconds: 3_600 - index,
        }),
      )
    const seen = await walk({ userId }, 6, async (page) => {
      await rows.settlement(clientIds[page % 2]!)
      await reclaim(ids[page]!)
      await reclaim(ids[39 - page]!)
    })
    expect(seen).toEqual(ids.toReversed())
  })

  test('of settlements that were claimed at one time show each once', async () => {
    const { userId, clientIds } = await newMerchant()
    const ids = []
    for (let index = 0; index < 10; index++) ids.push(await rows.settlement(clientIds[index % 2]!))
    await pool.query('UPDATE settlements SET created_at = $2 WHERE id = ANY($1)', [ids, new Date()])
    expect(await walk({ userId }, 3, () => Promise.resolve())).toEqual(ids.toReversed())
  })

  const reclaim = (id: bigint) =>
    pool.query(
      `UPDATE settlements SET status = 'claimed', error_reason = NULL,
         first_claimed_at = coalesce(first_claimed_at, created_at), created_at = now() WHERE id = $1`,
      [id],
    )
})
