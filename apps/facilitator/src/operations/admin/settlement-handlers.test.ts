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
    { state: 'pending' },
    { state: '' },
    { state: 'open', payer: '0xa' },
    { state: 'stuck', endedWithinHours: 24 },
    { endedWithinHours: 0 },
    { endedWithinHours: '1.5' },
    { from: 'yesterday' },
    { from: '2026-02-01', to: '2026-01-31' },
    { payer: '' },
    { state: 'settled', cursor: Buffer.from('1').toString('base64url') },
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

describe('a search of GET /admin/settlements', () => {
  const PAYER = '0xAb5801a7D398351b8bE11C439e05C5B3259aeC9B'

  test('finds settlements in every state, of all users, newest claims first', async () => {
    const { settled, failed, final, claimed, signed, confirming, reversed, other } = await oneOfEach()
    expect(await idsOf({ state: 'settled' })).toEqual([settled])
    expect(await idsOf({ state: 'failed' })).toEqual([failed])
    expect(await idsOf({ state: 'any' })).toEqual([
      other,
      reversed,
      confirming,
      signed,
      claimed,
      ...[final, failed, settled],
    ])
    expect((await pageOf({ state: 'failed' })).settlements).toMatchObject([
      { state: 'failed', errorReason: 'payment_expired', nextStep: 'none-failed', isStuck: false },
    ])
  })

  test('finds by payer and by the hash of any transaction, in any spelling', async () => {
    const transactionId = await rows.transaction({
      status: 'final',
      nonce: 9n,
      versions: ['0xfirst', '0xsecond'],
    })
    const settled = await settlement({ status: 'settled', payer: PAYER, transactionId, ageSeconds: 9 })
    const open = await settlement({ payer: PAYER })
    await settlement({ status: 'settled' })
    expect(await idsOf({ payer: PAYER.toLowerCase() })).toEqual([open, settled])
    expect(await idsOf({ payer: PAYER, state: 'settled' })).toEqual([settled])
    for (const transaction of ['0xfirst', '0xSECOND']) expect(await idsOf({ transaction })).toEqual([settled])
    expect(await idsOf({ transaction: '0xother' })).toEqual([])
  })

  test('has the claims of some days', async () => {
    const day = 86_400
    const old = await settlement({ status: 'settled', ageSeconds: 10 * day })
    const young = await settlement({ status: 'settled' })
    const dayOf = (ageDays: number) => new Date(Date.now() - ageDays * day * 1_000).toISOString().slice(0, 10)
    expect(await idsOf({ state: 'settled', from: dayOf(11), to: dayOf(9) })).toEqual([old])
    expect(await idsOf({ from: dayOf(1) })).toEqual([young])
  })

  test('has exactly what the overview counts for the last day, by its end', async () => {
    const now = Date.now()
    const hoursAgo = (hours: number) => new Date(now - hours * 3_600_000).toISOString()
    const ended = (hours: number, status: 'settled' | 'failed', ageHours = hours) =>
      settlement({
        status,
        endedAt: hoursAgo(hours),
        ageSeconds: ageHours * 3_600,
        ...(status === 'failed' ? { errorReason: 'payment_expired' } : {}),
      })
    // Claimed two days ago, settled an hour ago.
    const late = await ended(1, 'settled', 48)
    const early = await ended(2, 'settled')
    const failed = await ended(3, 'failed')
    await ended(25, 'settled')
    await ended(25, 'failed')
    expect(await idsOf({ state: 'settled', endedWithinHours: 24 })).toEqual([late, early])
    expect(await idsOf({ state: 'failed', endedWithinHours: 24 })).toEqual([failed])
    expect(await idsOf({ endedWithinHours: 24 })).toEqual([late, early, failed])
    const { body } = (await facilitator.api.get('/admin/overview').set(asAdmin).expect(200)) as {
      body: { data: { lastDay: object } }
    }
    expect(body.data.lastDay).toMatchObject({ settled: 2, failed: 1 })
  })

  test.each([{ state: 'any' }, { endedWithinHours: 1 }])(
    'has pages that repeat and skip nothing: %j',
    async (query) => {
      const other = await rows.client(await rows.user(`${query.state ?? 'ended'}@example.com`))
      const endedAt = new Date().toISOString()
      const ids: string[] = []
      for (let i = 0; i < 5; i++)
        ids.unshift(String(await rows.settlement(i % 2 ? other : clientId, { status: 'settled', endedAt })))
      await facilitator.database.pool.query(
        'UPDATE settlements SET created_at = (SELECT min(created_at) FROM settlements)',
      )
      const seen: string[] = []
      let cursor: string | null = null
      do {
        const page: Page = await pageOf({ ...query, limit: 2, ...(cursor === null ? {} : { cursor }) })
        seen.push(...page.settlements.map(({ id }) => id))
        cursor = page.next
        await settlement({ status: 'settled', endedAt: new Date(Date.now() + 1_000).toISOString() })
      } while (cursor !== null)
      expect(seen).toEqual(ids)
    },
  )
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
