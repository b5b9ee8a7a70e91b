import { type OperatorSettlement } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { ADMIN_TOKEN, asAdmin } from '../../testing/accounts'
import { testFacilitator, type TestFacilitator } from '../../testing/facilitator'
import { outcomeOf } from '../../testing/outcome'
import { settlementRows } from '../../testing/settlement-rows'

let facilitator: TestFacilitator
let rows: ReturnType<typeof settlementRows>
let clientId: string

beforeAll(async () => {
  // Without a signer no settler changes the rows.
  facilitator = await testFacilitator({ signerKeys: [], variables: { ADMIN_TOKEN } })
  rows = settlementRows(facilitator.database.pool)
  clientId = await rows.client(await rows.user('shop@example.com'))
  await rows.asset('base')
})
beforeEach(() =>
  facilitator.database.pool.query(
    'TRUNCATE settlements, transactions, transaction_versions, fee_allocations CASCADE',
  ),
)
afterAll(closeAll)

const settlement = async (row: Parameters<typeof rows.settlement>[1] = {}) =>
  String(await rows.settlement(clientId, row))

type Page = { settlements: OperatorSettlement[]; next: string | null }
const ask = (query: object) => facilitator.api.get('/admin/settlements').set(asAdmin).query(query)
const pageOf = async (query: object) => ((await ask(query).expect(200)).body as { data: Page }).data
const idsOf = async (query: object) => (await pageOf(query)).settlements.map(({ id }) => id)

async function oneOfEach() {
  const mined = await rows.transaction({ nonce: 6n, status: 'mined' })
  return {
    claimed: await settlement({ ageSeconds: 400, attempts: 3, lastError: 'waits for funds' }),
    signed: await settlement({ status: 'signed', transactionId: await rows.transaction(), ageSeconds: 200 }),
    confirming: await settlement({ status: 'signed', transactionId: mined, ageSeconds: 100 }),
    reversed: await settlement({ status: 'reversed', ageSeconds: 90, isReported: true }),
    other: await settlement({ network: 'base', ageSeconds: 5 }),
    settled: await settlement({ status: 'settled', ageSeconds: 500 }),
    failed: await settlement({ status: 'failed', errorReason: 'payment_expired', ageSeconds: 500 }),
    final: await settlement({
      status: 'reversed',
      errorReason: 'invalid_transaction_state',
      isReported: true,
      ageSeconds: 500,
    }),
  }
}

describe('GET /admin/settlements', () => {
  test('refuses a network with a character that no text of Postgres has', async () => {
    expect(outcomeOf(await ask({ network: 'a\0b' }))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('lists the settlements of a state, with the next step of each', async () => {
    const { claimed, signed, confirming, reversed, other, final } = await oneOfEach()
    expect(await idsOf({})).toEqual([claimed, signed, confirming, reversed, other])
    expect(await idsOf({ state: 'open', network: 'base' })).toEqual([other])
    expect(await idsOf({ state: 'open', network: 'unknown' })).toEqual([])
    expect(await idsOf({ state: 'claimed' })).toEqual([claimed, other])
    expect(await idsOf({ state: 'signed' })).toEqual([signed, confirming])
    expect(await idsOf({ state: 'reversed' })).toEqual([reversed])
    expect(await idsOf({ state: 'stuck' })).toEqual([claimed, signed])
    expect(await idsOf({ state: 'reversed-final' })).toEqual([final])
    const { settlements } = await pageOf({})
    expect(settlements.map(({ nextStep }) => nextStep)).toEqual([
      'wait-for-another-attempt',
      'wait-for-block',
      'wait-for-confirmations',
      'wait-after-reorg',
      'wait-for-signature',
    ])
    expect(settlements.map(({ isStuck }) => isStuck)).toEqual([true, true, false, false, false])
    expect(settlements[0]).toMatchObject({
      attempts: 3,
      lastError: 'waits for funds',
      signer: null,
      nonce: null,
    })
    expect((await pageOf({ state: 'reversed-final' })).settlements).toMatchObject([
      { isStuck: false, errorReason: 'invalid_transaction_state', nextStep: 'notify-client-of-reversal' },
    ])
  })

  test('has pages that repeat and skip nothing while settlements come and end', async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push(await settlement({ ageSeconds: 100 }))
    // Claims of one moment.
    await facilitator.database.pool.query(
      'UPDATE settlements SET created_at = (SELECT min(created_at) FROM settlements)',
    )
    const first = await pageOf({ limit: 2 })
    expect(first.settlements.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    await facilitator.database.pool.query(
      `UPDATE settlements SET status = 'failed', error_reason = 'x' WHERE id = $1`,
      [ids[0]],
    )
    const late = await settlement({ ageSeconds: 0 })
    const second = await pageOf({ limit: 2, cursor: first.next })
    expect(second.settlements.map(({ id }) => id)).toEqual(ids.slice(2, 4))
    const third = await pageOf({ limit: 2, cursor: second.next })
    expect(third.settlements.map(({ id }) => id)).toEqual([ids[4], late])
    expect(third.next).toBeNull()
  })

  test('has pages of what is reversed for good, newest claims first', async () => {
    const final = { status: 'reversed', errorReason: 'x', isReported: true } as const
    const ids = [await settlement(final), await settlement(final), await settlement(final)].reverse()
    const first = await pageOf({ state: 'reversed-final', limit: 2 })
    expect(first.settlements.map(({ id }) => id)).toEqual(ids.slice(0, 2))
    await settlement(final)
    const second = await pageOf({ state: 'reversed-final', limit: 2, cursor: first.next })
    expect([second.settlements.map(({ id }) => id), second.next]).toEqual([ids.slice(2), null])
  })

  test.each([
    { state: 'settled' },
    { state: '' },
    { limit: 0 },
    { limit: 201 },
    { cursor: '' },
    { cursor: 'bm8' },
    { cursor: 'a b' },
    { state: 'reversed-final', cursor: Buffer.from('1.2').toString('base64url') },
  ])('refuses %j', async (query) => {
    expect(outcomeOf(await ask(query))).toEqual([400, 'INVALID_REQUEST'])
  })
})

describe('POST /admin/settlements/:id/retry', () => {
  const retry = (id: string) => facilitator.api.post(`/admin/settlements/${id}/retry`).set(asAdmin)

  test('answers with a code and in words what was done, or why nothing was', async () => {
    const { claimed, signed, settled, failed, final } = await oneOfEach()
    const payers = await settlement({
      status: 'signed',
      transactionId: await rows.transaction({ nonce: null }),
    })
    const expected: [string, string, RegExp][] = [
      [claimed, 'retried', /^it is validated now/],
      [signed, 'retried', /^its fees are raised now .* key of 0x[0-9a-f]{40} is/],
      [settled, 'settled', /^it is settled$/],
      [failed, 'failed', /^it failed \(payment_expired\)/],
      [final, 'reversed-final', /^it is reversed for good/],
      [payers, 'payer-transaction', /^the payer signed the transaction/],
    ]
    for (const [id, code, message] of expected)
      expect((await retry(id).expect(200)).body).toMatchObject({
        data: { code, message: expect.stringMatching(message) as string, settlement: { id } },
      })
    const { rows: retried } = await facilitator.database.pool.query<{ id: bigint }>(
      'SELECT id FROM settlements WHERE retry_requested_at IS NOT NULL ORDER BY id',
    )
    expect(retried.map(({ id }) => String(id))).toEqual([claimed, signed])
  })

  test('is 404 for an unknown id, and 400 for what is none', async () => {
    expect(outcomeOf(await retry('999999'))).toEqual([404, 'NOT_FOUND'])
    for (const id of ['0', '-1', 'x', '1.5', '9'.repeat(19), '%31%00'])
      expect([id, ...outcomeOf(await retry(id))]).toEqual([id, 400, 'INVALID_REQUEST'])
    expect(outcomeOf(await facilitator.api.get('/admin/settlements/999999').set(asAdmin))).toEqual([
      404,
      'NOT_FOUND',
    ])
  })
})

test('no answer has the payer’s signature', async () => {
  const { signed } = await oneOfEach()
  await facilitator.database.pool.query(`UPDATE settlements SET payload = '{"signature":"0xsecret"}'`)
  await facilitator.database.pool.query(`UPDATE transactions SET raw = '0xsecret' || id`)
  for (const path of ['', `/${signed}`])
    expect(
      (await facilitator.api.get(`/admin/settlements${path}`).set(asAdmin).expect(200)).text,
    ).not.toContain('secret')
  expect(
    (await facilitator.api.post(`/admin/settlements/${signed}/retry`).set(asAdmin).expect(200)).text,
  ).not.toContain('secret')
})
