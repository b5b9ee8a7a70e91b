import { openFacilitatorDatabase, type Pool } from '@tollgate/database'
import { closeAll, closeLater, migratedDatabase } from '@tollgate/testing'
import { settlementRows } from '../../testing/settlement-rows'
import { createGrantStore } from './grant-store'

const NETWORK = 'base-sepolia'
let pool: Pool
let rows: ReturnType<typeof settlementRows>
let store: ReturnType<typeof createGrantStore>
beforeAll(async () => {
  const database = openFacilitatorDatabase({ url: await migratedDatabase('facilitator') })
  closeLater(database.close)
  pool = database.pool
  rows = settlementRows(pool)
  store = createGrantStore(pool)
  await rows.asset()
})
afterAll(closeAll)

let users = 0
const newClient = async (userId?: number) =>
  rows.client(userId ?? (await rows.user(`shop-${++users}@example.com`)))

let nonce = 0n
/** A grant of 100 for the settlement. */
async function grant(settlementId: bigint, clientId: string, { isUnproven = true, ageSeconds = 0 } = {}) {
  const hash = `0x${(++nonce).toString(16).padStart(64, '0')}`
  const id = await rows.transaction({ nonce, versions: [hash] })
  await pool.query(
    'UPDATE transactions SET is_fee_grant = true, max_fee = 100, signed_at = now() - make_interval(secs => $2) WHERE id = $1',
    [id, ageSeconds],
  )
  await store.record(pool, hash, [{ settlementId, clientId, part: 100n, isUnproven }])
}

/** Fees by what became of the grants. */
async function unusedOf(client: string, regranted: readonly bigint[] = []) {
  const found = (await store.unused(NETWORK, regranted)).filter(({ clientId }) => clientId === client)
  return Object.fromEntries(
    found.map(({ isPending, isUnproven, fees }) => [
      `${isPending ? 'pending' : 'wasted'}, ${isUnproven ? 'unproven' : 'proven'}`,
      fees,
    ]),
  )
}
const isProven = async (payer: string, clientId: string) =>
  (await store.proven(NETWORK, [{ payer, clientId }])).length === 1

describe('grants of 24 hours', () => {
  const wasted = { 'wasted, unproven': 100n }
  const pending = { 'pending, unproven': 100n }
  const errorReason = 'invalid_transaction_state'

  test.each([
    ['settled', {}, {}],
    ['failed', { errorReason }, wasted],
    ['reversed', {}, wasted],
    ['claimed', {}, pending],
    ['signed', {}, pending],
  ] as const)('of a payment that is %s', async (status, changes, expected) => {
    const client = await newClient()
    const more = status === 'signed' ? { transactionId: await rows.transaction({ nonce: null }) } : changes
    await grant(await rows.settlement(client, { status, ageSeconds: 1, ...more }), client)
    expect(await unusedOf(client)).toEqual(expected)
  })

  test('are wasted but for the newest of a payment, also once it settled', async () => {
    const client = await newClient()
    const settled = await rows.settlement(client, { status: 'settled', ageSeconds: 1 })
    await grant(settled, client)
    await grant(settled, client, { isUnproven: false })
    expect(await unusedOf(client)).toEqual(wasted)
  })

  test('are wasted if their payment needs another, or was claimed again since', async () => {
    const client = await newClient()
    const waiting = await rows.settlement(client, { ageSeconds: 1 })
    await grant(waiting, client)
    expect(await unusedOf(client, [waiting])).toEqual(wasted)
    const other = await newClient()
    await grant(await rows.settlement(client), other, { ageSeconds: 5 })
    expect(await unusedOf(other)).toEqual(wasted)
  })

  test('are forgotten after a day', async () => {
    const client = await newClient()
    const failed = await rows.settlement(client, { status: 'failed', errorReason })
    await grant(failed, client, { ageSeconds: 86_401 })
    expect(await unusedOf(client)).toEqual({})
  })
})

describe('a payer', () => {
  test('has proven itself to a user, on all its keys, by more settled payments than wasted grants', async () => {
    const userId = await rows.user(`shop-${++users}@example.com`)
    const [client, other] = [await newClient(userId), await newClient(userId)]
    const payer = `0x${'1'.repeat(40)}`
    expect(await isProven(payer, client)).toBe(false)
    await rows.settlement(client, { payer, status: 'settled' })
    expect([await isProven(payer, client), await isProven(payer, other)]).toEqual([true, true])

    await grant(
      await rows.settlement(other, { payer, status: 'failed', errorReason: 'payment_expired' }),
      other,
    )
    expect([await isProven(payer, client), await isProven(payer, other)]).toEqual([false, false])
    await rows.settlement(other, { payer, status: 'settled' })
    expect(await isProven(payer, client)).toBe(true)
  })

  test('has proven nothing by payments to another user, which may be its own', async () => {
    const payer = `0x${'2'.repeat(40)}`
    await rows.settlement(await newClient(), { payer, status: 'settled' })
    expect(await isProven(payer, await newClient())).toBe(false)
  })
})
