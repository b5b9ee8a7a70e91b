import { type SettleResult, type SettlementAnswer, type SettlementPage } from '@tollgate/protocol'
import { closeAll, closeLater, eventually } from '@tollgate/testing'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type Response } from 'supertest'
import { newAccount, type Account } from '../testing/accounts'
import { newPayer, sharedChain } from '../testing/chain'
import { testFacilitator, type ClientHeaders, type TestFacilitator } from '../testing/facilitator'
import { outcomeOf } from '../testing/outcome'
import { AMOUNT, inVersion2, paymentRequest } from '../testing/payment'
import { settlementRows } from '../testing/settlement-rows'

const rpcUrl = sharedChain()
const NO_SUCH = [404, 'NOT_FOUND']

let facilitator: TestFacilitator
let api: TestFacilitator['api']
let rows: ReturnType<typeof settlementRows>
beforeAll(async () => {
  facilitator = await testFacilitator()
  ;({ api } = facilitator)
  rows = settlementRows(facilitator.database.pool)
})
afterAll(closeAll)

async function newMerchant() {
  const account = await newAccount(api)
  return { account, key: await account.newKey() }
}

const idOf = (key: ClientHeaders) => key['X-Client-ID']
const list = (headers: object, query: object = {}) =>
  api
    .get('/api/v1/settlements')
    .set({ ...headers })
    .query(query)
const get = (headers: object, id: string) =>
  api.get(`/api/v1/settlements/${encodeURIComponent(id)}`).set({ ...headers })
const pageOf = async (headers: object, query: object = {}) =>
  ((await list(headers, query).expect(200)).body as SettlementPage).data
const one = async (headers: object, id: string) =>
  ((await get(headers, id).expect(200)).body as SettlementAnswer).data
const idsOf = async (headers: object, query: object = {}) =>
  (await pageOf(headers, query)).settlements.map(({ id }) => id)

async function settle(key: ClientHeaders, version: 1 | 2, extensions?: object) {
  const request = await paymentRequest(await newPayer(rpcUrl))
  const v2 = inVersion2(request)
  const body =
    version === 1
      ? request
      : { ...v2, paymentPayload: { ...v2.paymentPayload, ...(extensions ? { extensions } : {}) } }
  const answer = await api
    .post(`/api/v${version}/settle`)
    .set({ ...key })
    .send(body)
    .expect(200)
  const { success, transaction, blockNumber } = answer.body as SettleResult
  expect(success).toBe(true)
  return { request, transaction, blockNumber }
}

describe('4. GET /settlements, GET /settlements/:id', () => {
  test('a settled payment is listed with its resource, and shown with its transaction and timeline', async () => {
    const { account, key } = await newMerchant()
    const { request, transaction, blockNumber } = await settle(key, 1)
    const { payTo, asset } = request.paymentRequirements
    const { from, nonce } = request.paymentPayload.payload.authorization
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string
    const expected = {
      id: expect.stringMatching(/^[1-9][0-9]*$/) as string,
      network: 'base-sepolia',
      asset,
      symbol: 'USDC',
      decimals: 6,
      amount: AMOUNT.toString(),
      payer: from,
      recipient: payTo,
      resource: 'https://shop.example/report',
      paymentIdentifier: null,
      clientId: idOf(key),
      state: 'settled',
      reason: null,
      detail: null,
      transaction,
      block: blockNumber,
      fee: expect.stringMatching(/^[1-9][0-9]*$/) as string,
      createdAt: time,
      updatedAt: time,
      settledAt: time,
      endedAt: time,
      nonce,
    }
    const { settlements, next } = await pageOf(account.authorization)
    expect([settlements, next]).toEqual([[expected], null])
    expect(await pageOf(key)).toEqual({ settlements, next })
    const [{ id, fee }] = settlements as [(typeof settlements)[number]]

    const shown = await one(key, id)
    expect(shown).toEqual({
      ...expected,
      confirmations: expect.any(Number) as number,
      requiredConfirmations: 1,
      transactions: [
        {
          hash: transaction,
          state: expect.stringMatching(/^(mined|final)$/) as string,
          signer: facilitator.signers[0]!.address,
          nonce: expect.stringMatching(/^[0-9]+$/) as string,
          signedAt: time,
          acceptedAt: time,
          block: blockNumber,
          fee,
        },
      ],
      timeline: expect.any(Array) as unknown[],
    })
    expect(shown.confirmations).toBeGreaterThanOrEqual(1)
    expect(shown.timeline.map(({ event }) => event).sort()).toEqual(
      ['accepted', 'claimed', 'reported', 'settled', 'signed'].sort(),
    )
    const [byHash, byNonce] = [
      await one(account.authorization, transaction),
      { payer: from.toLowerCase(), nonce },
    ]
    expect(byHash.id).toBe(id)
    expect(await idsOf(key, byNonce)).toEqual([id])
  })

  test('a payment of version 2 is found by its payment identifier', async () => {
    const { key } = await newMerchant()
    const identifier = `order-${'7'.repeat(20)}`
    await settle(key, 2, { 'payment-identifier': { info: { required: false, id: identifier } } })
    expect(await one(key, identifier)).toMatchObject({
      paymentIdentifier: identifier,
      resource: 'https://shop.example/report',
    })
    expect(await idsOf(key, { paymentIdentifier: identifier })).toHaveLength(1)
  })

  test.each([
    [{ info: { id: 'short' } }],
    [{ info: { id: 'x'.repeat(129) } }],
    [{ info: { id: 7 } }],
    ['text'],
    [null],
  ])('a malformed payment identifier %j is not stored, and refuses no payment', async (extension) => {
    const { key } = await newMerchant()
    await settle(key, 2, { 'payment-identifier': extension })
    expect((await pageOf(key)).settlements).toMatchObject([{ state: 'settled', paymentIdentifier: null }])
  })

  test('a resource with characters that Postgres refuses does not refuse the payment', async () => {
    const { key } = await newMerchant()
    const request = await paymentRequest(await newPayer(rpcUrl), { requirements: { resource: 'a\0b\ud800' } })
    const answer = await api
      .post('/api/v1/settle')
      .set({ ...key })
      .send(request)
      .expect(200)
    expect(answer.body).toMatchObject({ success: true })
    expect((await pageOf(key)).settlements).toMatchObject([{ resource: 'ab\ufffd' }])
  })

  test('a failed one has its reason, and its detail without addresses of nodes', async () => {
    const { key } = await newMerchant()
    const id = await rows.settlement(idOf(key), {
      status: 'failed',
      errorReason: 'invalid_transaction_state',
    })
    await facilitator.database.pool.query('UPDATE settlements SET error_detail = $2 WHERE id = $1', [
      id,
      'https://node.example/secret said no',
    ])
    expect(await one(key, String(id))).toMatchObject({
      state: 'failed',
      reason: 'invalid_transaction_state',
      detail: '(URL) said no',
      transaction: null,
      confirmations: null,
      transactions: [],
    })
  })

  test('confirmations count from the newest block; null without a block or a configured network', async () => {
    const { key } = await newMerchant()
    await rows.asset('retired')
    const [ours, retired] = [
      await rows.settlement(idOf(key), { status: 'settled' }),
      await rows.settlement(idOf(key), { status: 'settled', network: 'retired' }),
    ]
    const shown = await one(key, String(ours))
    const { kinds } = (await api.get('/api/v1/networks').expect(200)).body as { kinds: { block: number }[] }
    expect(shown.confirmations).toBeLessThanOrEqual(kinds[0]!.block - 17 + 1)
    expect(shown.confirmations).toBeGreaterThan(0)
    expect(await one(key, String(retired))).toMatchObject({
      confirmations: null,
      requiredConfirmations: null,
    })
  })
})

describe('each caller sees its own only', () => {
  let owner: { account: Account; key: ClientHeaders }
  let id: string
  let transaction: string
  const identifier = 'order-of-the-owner'
  beforeAll(async () => {
    owner = await newMerchant()
    const transactionId = await rows.transaction({ status: 'mined', nonce: 900n })
    id = String(
      await rows.settlement(idOf(owner.key), {
        status: 'settled',
        transactionId,
        paymentIdentifier: identifier,
      }),
    )
    transaction = (await one(owner.key, id)).transaction!
  })

  test('GET /settlements: another user’s keys, filters by its client id and its references show nothing', async () => {
    const stranger = await newMerchant()
    for (const headers of [stranger.account.authorization, stranger.key])
      for (const query of [
        {},
        { clientId: idOf(owner.key) },
        { transaction },
        { paymentIdentifier: identifier },
      ])
        expect(await idsOf(headers, query)).toEqual([])
    const cursorOfOwner = (await pageOf(owner.key, { limit: 1 })).next
    expect(cursorOfOwner).toBeNull()
  })

  test('GET /settlements/:id: another user’s id, transaction and payment identifier are unknown', async () => {
    const stranger = await newMerchant()
    for (const headers of [stranger.account.authorization, stranger.key])
      for (const reference of [id, transaction, identifier])
        expect(outcomeOf(await get(headers, reference))).toEqual(NO_SUCH)
    for (const reference of [id, transaction, identifier])
      expect((await one(owner.key, reference)).id).toBe(id)
  })

  test('another key of the same user sees none of them, its user all, an admin those of all users', async () => {
    const other = await owner.account.newKey()
    expect(outcomeOf(await get(other, id))).toEqual(NO_SUCH)
    expect(await idsOf(other, { clientId: idOf(owner.key) })).toEqual([])
    expect((await one(owner.account.authorization, id)).id).toBe(id)
    const admin = await newAccount(api)
    const where = { email: admin.email }
    await facilitator.database.prisma.user.update({ where, data: { isAdmin: true } })
    expect((await one(admin.authorization, id)).id).toBe(id)
    expect(await idsOf(admin.authorization, { clientId: idOf(owner.key) })).toEqual([id])
  })

  test('a cursor of another user pages through one’s own only', async () => {
    const stranger = await newMerchant()
    const own = String(await rows.settlement(idOf(stranger.key), { ageSeconds: 3_600 }))
    await rows.settlement(idOf(owner.key), { ageSeconds: 1_800 })
    const { next } = await pageOf(owner.key, { limit: 1 })
    expect(next).not.toBeNull()
    expect(await idsOf(stranger.key, { cursor: next! })).toEqual([own])
  })

  test('a payer cannot hide a settlement behind a payment identifier that is its id or hash', async () => {
    await rows.settlement(idOf(owner.key), { paymentIdentifier: transaction })
    expect((await one(owner.key, transaction)).id).toBe(id)
  })

  test('401 without credentials, 403 with a key of another scope; a key for reading alone reads', async () => {
    expect(outcomeOf(await list({}))).toEqual([401, 'UNAUTHORIZED'])
    expect(outcomeOf(await get({}, id))).toEqual([401, 'UNAUTHORIZED'])
    const settling = await owner.account.newKey({ scope: 'verify,settle,supported' })
    expect(outcomeOf(await list(settling))).toEqual([403, 'FORBIDDEN'])
    expect(outcomeOf(await get(settling, id))).toEqual([403, 'FORBIDDEN'])
    const reading = await owner.account.newKey({ scope: 'settlements' })
    expect(await idsOf(reading)).toEqual([])
    const settle = await api
      .post('/api/v1/settle')
      .set({ ...reading })
      .send({})
    expect(outcomeOf(settle)).toEqual([403, 'FORBIDDEN'])
    const wrong = { ...owner.key, 'X-Client-Token': 'x'.repeat(43) }
    expect(outcomeOf(await list({ ...wrong, ...owner.account.authorization }))).toEqual([401, 'UNAUTHORIZED'])
  })

  test('answers are private', async () => {
    for (const answer of [await list(owner.key), await get(owner.key, id)])
      expect(answer.headers['cache-control']).toBe('no-store')
  })
})

describe('pages', () => {
  test('follow `next` to the end, 50 at a time by default', async () => {
    const { key } = await newMerchant()
    const ids: string[] = []
    for (let index = 0; index < 51; index++)
      ids.unshift(String(await rows.settlement(idOf(key), { ageSeconds: 100 - index })))
    const first = await pageOf(key)
    expect(first.settlements.map(({ id }) => id)).toEqual(ids.slice(0, 50))
    expect(await pageOf(key, { cursor: first.next! })).toMatchObject({
      settlements: [{ id: ids[50] }],
      next: null,
    })
  })

  test.each([
    [{ limit: '0' }, 'limit: '],
    [{ limit: '201' }, 'limit: must be at most 200'],
    [{ limit: '10001' }, 'limit: '],
    [{ cursor: 'x' }, 'cursor: '],
    [{ state: 'claimed' }, 'state: '],
    [{ from: 'yesterday' }, 'from: must be a date'],
    [{ to: '2026-02-30' }, 'to: must be a date'],
    [{ from: '2026-01-31T12:00:00' }, 'from: must be a date'],
    [{ nonce: '0x1' }, 'nonce: requires payer'],
    [{ payer: ['0xa', '0xb'] }, 'payer: '],
    [{ resource: 'a\0b' }, 'resource: '],
  ])('400 for %j', async (query, message) => {
    const { key } = await newMerchant()
    const answer = await list(key, query)
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect((answer.body as { message: string }).message).toContain(message)
  })

  test('a hash of several settlements is 400, and names the filter of the list', async () => {
    const { key } = await newMerchant()
    const transactionId = await rows.transaction({ status: 'mined', nonce: 901n, versions: ['0xbatch'] })
    const ids = []
    for (let index = 0; index < 2; index++)
      ids.unshift(String(await rows.settlement(idOf(key), { status: 'settled', transactionId })))
    const answer = await get(key, '0xbatch')
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect((answer.body as { message: string }).message).toContain('GET /api/v1/settlements?transaction=')
    expect(await idsOf(key, { transaction: '0xBATCH' })).toEqual(ids)
  })
})

/** With long resources, so that few rows make a long file. */
async function manySettlements(key: ClientHeaders, count: number) {
  const { pool } = facilitator.database
  const id = await rows.settlement(idOf(key), { status: 'settled' })
  const { rows: columns } = await pool.query<{ name: string }>(
    `SELECT string_agg(quote_ident(column_name), ', ') AS name FROM information_schema.columns
     WHERE table_name = 'settlements' AND is_generated = 'NEVER' AND column_name NOT IN ('id', 'nonce', 'resource', 'request_id')`,
  )
  const copied = columns[0]!.name
  await pool.query(
    `INSERT INTO settlements (${copied}, nonce, resource)
     SELECT ${copied}, nonce || at, 'https://shop.example/' || repeat('x', 2000)
     FROM settlements, generate_series(2, $2::int) AS at WHERE id = $1`,
    [id, count],
  )
}

/** Asks for the longest export, and reads no more than its first bytes. */
async function openExport(key: ClientHeaders): Promise<Socket> {
  const { hostname, port } = new URL(facilitator.url)
  const socket = connect(Number(port), hostname)
  closeLater(() => void socket.destroy())
  const headers = Object.entries({ ...key, Host: hostname, Accept: 'text/csv' })
  socket.write(
    `GET /api/v1/settlements?limit=10000 HTTP/1.1\r\n${headers.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`,
  )
  await once(socket, 'readable')
  return socket
}

describe('Accept: text/csv', () => {
  const csv = (headers: object, query: object = {}) => list(headers, query).set('Accept', 'text/csv')

  test('has a header and the same rows, and links to the next page', async () => {
    const { key } = await newMerchant()
    for (let index = 0; index < 3; index++)
      await rows.settlement(idOf(key), {
        status: 'settled',
        ageSeconds: 10 - index,
        resource: `/${index},"x"`,
      })
    const answer = await csv(key, { limit: 2, state: 'settled' }).expect(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename=settlements.csv',
      'cache-control': 'no-store',
      vary: expect.stringContaining('Accept') as string,
    })
    const { settlements, next } = await pageOf(key, { limit: 2 })
    const lines = answer.text.split('\r\n')
    expect(lines).toHaveLength(4)
    expect(lines[0]).toBe(Object.keys(settlements[0]!).join(','))
    expect(lines[1]).toContain(`${settlements[0]!.recipient},"/2,""x""",,`)
    const link = `</api/v1/settlements?limit=2&state=settled&cursor=${next}>; rel="next"`
    expect(answer.headers['link']).toBe(link)
    const last = await api
      .get(link.slice(1, link.indexOf('>')))
      .set({ ...key, Accept: 'text/csv' })
      .expect(200)
    expect([last.text.split('\r\n').length, last.headers['link']]).toEqual([3, undefined])
  })

  test('a spreadsheet reads what a payer wrote as text', async () => {
    const { key } = await newMerchant()
    await rows.settlement(idOf(key), { resource: '=HYPERLINK("https://evil.example")' })
    expect((await csv(key).expect(200)).text).toContain(`"'=HYPERLINK(""https://evil.example"")"`)
  })

  test('ends after some megabytes, and the links lead through all rows, each once', async () => {
    const { key } = await newMerchant()
    await manySettlements(key, 2_100)
    const ids: string[] = []
    let path: string | undefined = '/api/v1/settlements?limit=10000'
    const lengths: number[] = []
    while (path !== undefined) {
      const page: Response = await api.get(path).set({ ...key, Accept: 'text/csv' })
      expect(page.status).toBe(200)
      lengths.push(page.text.length)
      ids.push(...(page.text.match(/^\d+/gm) ?? []))
      path = /^<([^>]+)>; rel="next"$/.exec(String(page.get('link')))?.[1]
    }
    expect(ids).toHaveLength(2_100)
    expect(new Set(ids).size).toBe(2_100)
    expect(lengths).toHaveLength(2)
    expect(lengths[0]).toBeGreaterThan(4_000_000)
    expect(lengths[0]).toBeLessThan(5_500_000)
  })

  test('two that are not read are all that one merchant may hold', async () => {
    const { key } = await newMerchant()
    await manySettlements(key, 2_100)
    const unread = await Promise.all([openExport(key), openExport(key)])
    expect(outcomeOf(await csv(key, { limit: 10_000 }))).toEqual([503, 'OVERLOADED'])
    expect(await idsOf(key, { limit: 1 })).toHaveLength(1)
    const [first] = unread
    first.destroy()
    await eventually(
      () => csv(key, { limit: 1 }),
      ({ status }) => status === 200,
    )
    unread[1].destroy()
  })

  test('may have up to 10,000 rows; JSON is the default', async () => {
    const { key } = await newMerchant()
    expect((await csv(key, { limit: 10_000 }).expect(200)).text).toMatch(/^id,[^\n]+\r\n$/)
    expect((await list(key).set('Accept', '*/*').expect(200)).type).toBe('application/json')
  })
})
