import { USDC_ADDRESS } from '@tollgate/devnet'
import { closeAll, eventually, startWebhookReceiver } from '@tollgate/testing'
import { Webhook } from 'standardwebhooks'
import { newAccount, type Account } from '../testing/accounts'
import { newPayer } from '../testing/chain'
import { testFacilitator, type TestFacilitator } from '../testing/facilitator'
import { AMOUNT, paymentRequest } from '../testing/payment'
import { settlementRows } from '../testing/settlement-rows'
import { HOOKS, newWebhook } from '../testing/webhooks'
import { EMIT_OVERDUE } from './overdue-sql'

const NETWORK = 'a network without a settler'

let facilitator: TestFacilitator
let rows: ReturnType<typeof settlementRows>
beforeAll(async () => {
  facilitator = await testFacilitator()
  facilitator.deliveryWorker.begin()
  const { asset, settlement, ...others } = settlementRows(facilitator.database.pool)
  // No settler looks at this network.
  await asset(NETWORK)
  rows = {
    ...others,
    asset,
    settlement: (clientId, row) => settlement(clientId, { network: NETWORK, ...row }),
  }
})
afterAll(closeAll)

const codeOf = ({ status, body }: { status: number; body: unknown }) => [
  status,
  (body as { code?: string }).code,
]

type Event = {
  type: string
  data: { state: string; reason: string | null; id: string; final: boolean | null; endedAt: string | null }
}

async function eventsOf(settlementId: bigint): Promise<Event[]> {
  const { rows: found } = await facilitator.database.pool.query<Event>(
    'SELECT type, data FROM webhook_events WHERE subject = $1 ORDER BY id',
    [String(settlementId)],
  )
  return found
}
const typesOf = async (settlementId: bigint) => (await eventsOf(settlementId)).map(({ type }) => type)

/** A transaction that a settlement in state `signed` has. */
const sign = async () => `status = 'signed', transaction_id = ${await rows.transaction({ nonce: null })}`

async function merchant({ hasWebhook = true, url = 'https://shop.example/hooks' } = {}) {
  const account = await newAccount(facilitator.api)
  const clientId = (await account.newKey())['X-Client-ID']
  const webhook = hasWebhook ? await newWebhook(facilitator, account, { url }) : undefined
  return { account, clientId, webhook }
}

const change = (id: bigint, changes: string) =>
  facilitator.database.pool.query(`UPDATE settlements SET ${changes}, updated_at = now() WHERE id = $1`, [id])

test('a payment that is settled on chain is one signed event, as the merchant sees its settlement', async () => {
  const receiver = await startWebhookReceiver()
  const account = await newAccount(facilitator.api)
  const key = await account.newKey()
  const { secret } = await newWebhook(facilitator, account, { url: receiver.url })
  const payer = await newPayer(facilitator.settings.rpcUrl)
  const body = await paymentRequest(payer)
  const settled = await facilitator.api.post('/api/v1/settle').set(key).send(body).expect(200)
  expect(settled.body).toMatchObject({ success: true })

  const [received] = await receiver.until(1)
  const event = new Webhook(secret).verify(received!.text, received!.headers as Record<string, string>)
  const { transaction } = settled.body as { transaction: string }
  expect(event).toMatchObject({
    type: 'settlement.settled',
    data: { amount: String(AMOUNT), payer: payer.address, transaction },
  })
  const { data } = event as { data: object }
  expect(data).toEqual({
    id: expect.stringMatching(/^\d+$/) as string,
    network: 'base-sepolia',
    asset: USDC_ADDRESS,
    symbol: 'USDC',
    decimals: 6,
    amount: String(AMOUNT),
    payer: payer.address,
    recipient: body.paymentRequirements.payTo,
    resource: body.paymentRequirements.resource,
    paymentIdentifier: null,
    clientId: key['X-Client-ID'],
    state: 'settled',
    reason: null,
    transaction,
    block: expect.any(Number) as number,
    fee: expect.stringMatching(/^[1-9]\d*$/) as string,
    createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]+\.\d{3}Z$/) as string,
    updatedAt: expect.any(String) as string,
    settledAt: expect.any(String) as string,
    endedAt: expect.any(String) as string,
    nonce: body.paymentPayload.payload.authorization.nonce,
    final: null,
  })
})

describe('each change of state is an event, in order:', () => {
  const [settled, failed, reversed] = ['settlement.settled', 'settlement.failed', 'settlement.reversed']
  const hash = `transaction_hash = '0x${'ab'.repeat(32)}', block_number = 17`
  const [settle, fail] = [
    `status = 'settled', settled_at = now(), ${hash}`,
    `status = 'failed', error_reason = 'x'`,
  ]
  test.each([
    ['signed and settled', ['sign', settle], [settled]],
    ['failed', [fail], [failed]],
    [
      'reclaimed after a failure',
      [fail, "status = 'claimed', error_reason = NULL", settle],
      [failed, settled],
    ],
    ['reversed and settled again', [settle, "status = 'reversed'", settle], [settled, reversed, settled]],
    [
      'reversed for good',
      [settle, "status = 'reversed', success_reported_at = now()", "error_reason = 'payment_expired'"],
      [settled, reversed, reversed],
    ],
    [
      'settled by a third party, whose block was dropped',
      [settle, "status = 'claimed'", settle],
      [settled, reversed, settled],
    ],
    ['other changes', ["last_error = 'x'", 'sign', 'attempts = 1'], []],
  ])('%s', async (_, changes, types) => {
    const { clientId } = await merchant()
    const id = await rows.settlement(clientId)
    for (const each of changes) await change(id, each === 'sign' ? await sign() : each)
    expect(await typesOf(id)).toEqual(types)
  })

  test('the event has the state and the reason of that moment', async () => {
    const { clientId } = await merchant()
    const id = await rows.settlement(clientId)
    for (const each of [settle, "status = 'reversed'", fail]) await change(id, each)
    expect((await eventsOf(id)).map(({ data }) => [data.state, data.reason, data.id])).toEqual([
      ['settled', null, String(id)],
      ['reversed', null, String(id)],
      ['failed', 'x', String(id)],
    ])
  })

  test('a reversal says whether it is final, and every event what GET /settlements shows', async () => {
    const { account, clientId } = await merchant()
    const id = await rows.settlement(clientId)
    const shown: Record<string, unknown>[] = []
    const finals: [type: string, final: boolean | null][] = []
    for (const each of [
      settle,
      "status = 'reversed', success_reported_at = now()",
      "error_reason = 'payment_expired'",
      'error_reason = NULL',
      "status = 'claimed'",
      settle,
      "status = 'claimed'",
    ]) {
      const before = (await eventsOf(id)).length
      await change(id, each)
      const event = (await eventsOf(id))[before]
      if (!event) continue
      const { final, ...data } = event.data
      finals.push([event.type, final])
      const found = await facilitator.api
        .get(`/api/v1/settlements/${id}`)
        .set(account.authorization)
        .expect(200)
      shown.push((found.body as { data: Record<string, unknown> }).data)
      expect(shown.at(-1)).toMatchObject(data)
    }
    expect(finals).toEqual([
      [settled, null],
      [reversed, false],
      [reversed, true],
      [settled, null],
      [reversed, false],
    ])
    expect(shown.map(({ endedAt }) => endedAt === null)).toEqual([false, true, false, false, true])
  })

  test('a change that is rolled back is none', async () => {
    const { clientId } = await merchant()
    const id = await rows.settlement(clientId)
    const session = await facilitator.database.pool.connect()
    await session.query('BEGIN')
    await session.query(`UPDATE settlements SET ${settle} WHERE id = $1`, [id])
    await session.query('ROLLBACK')
    session.release()
    expect(await typesOf(id)).toEqual([])
  })

  test('a success that is reported to a key of another user is an event of that user too', async () => {
    const [first, second, other] = [await merchant(), await merchant(), await merchant()]
    const sameUser = (await first.account.newKey())['X-Client-ID']
    const id = await rows.settlement(first.clientId)
    await change(id, settle)
    await change(id, `client_id = '${sameUser}'`)
    expect(await typesOf(id)).toEqual([settled])
    await change(id, `client_id = '${second.clientId}'`)
    const { rows: owners } = await facilitator.database.pool.query<{ id: string }>(
      `SELECT d.endpoint_id AS id FROM webhook_events e JOIN webhook_deliveries d ON d.event_id = e.id WHERE e.subject = $1 ORDER BY e.id`,
      [String(id)],
    )
    expect(owners.map((owner) => owner.id)).toEqual([first.webhook?.id, second.webhook?.id])
    expect(other.webhook).toBeDefined()
  })

  test('of an account without a webhook, with an inactive one, or disabled, nothing is written', async () => {
    const [none, inactive, disabled] = [
      await merchant({ hasWebhook: false }),
      await merchant(),
      await merchant(),
    ]
    await facilitator.api
      .put(`${HOOKS}/${inactive.webhook?.id}`)
      .set(inactive.account.authorization)
      .send({ active: false })
      .expect(200)
    await facilitator.database.pool.query('UPDATE users SET disabled_at = now() WHERE email = $1', [
      disabled.account.email,
    ])
    for (const { clientId } of [none, inactive, disabled]) {
      const id = await rows.settlement(clientId)
      await change(id, settle)
      expect(await typesOf(id)).toEqual([])
    }
  })
})

describe('a claim that is open for more than a minute', () => {
  const scan = () => facilitator.database.pool.query(EMIT_OVERDUE)
  /** A scan skips what another one is writing. */
  const scanUntil = (id: bigint, events: number) =>
    eventually(
      async () => {
        await scan()
        return typesOf(id)
      },
      (types) => types.length === events,
    )

  test('is one event, however many replicas look at once, and again if it is reclaimed', async () => {
    const { clientId } = await merchant()
    const id = await rows.settlement(clientId, { ageSeconds: 61 })
    const young = await rows.settlement(clientId, { ageSeconds: 50 })
    await Promise.all(Array.from({ length: 8 }, scan))
    await scanUntil(id, 1)
    expect(await typesOf(id)).toEqual(['settlement.pending'])
    expect((await eventsOf(id))[0]?.data.state).toBe('pending')
    expect(await typesOf(young)).toEqual([])
    await change(id, `status = 'failed', error_reason = 'x'`)
    await change(id, `status = 'claimed', error_reason = NULL, created_at = now() - interval '2 minutes'`)
    await scanUntil(id, 3)
    await scan()
    expect(await typesOf(id)).toEqual(['settlement.pending', 'settlement.failed', 'settlement.pending'])
  })

  test('is one event, also if a scan began before another one wrote it', async () => {
    const { clientId } = await merchant()
    const id = await rows.settlement(clientId, { ageSeconds: 61 })
    const session = await facilitator.database.pool.connect()
    await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await session.query('SELECT FROM webhook_events')
    await scanUntil(id, 1)
    await expect(session.query(EMIT_OVERDUE)).rejects.toThrow('could not serialize')
    await session.query('ROLLBACK')
    session.release()
    expect(await typesOf(id)).toEqual(['settlement.pending'])
  })

  test('is no event after its settlement has ended, even if the scan had seen it open', async () => {
    const { clientId } = await merchant()
    const id = await rows.settlement(clientId, { ageSeconds: 61 })
    const session = await facilitator.database.pool.connect()
    await session.query('BEGIN')
    await session.query(`UPDATE settlements SET status = 'failed', error_reason = 'x' WHERE id = $1`, [id])
    await scan()
    await session.query('COMMIT')
    session.release()
    await scan()
    expect(await typesOf(id)).toEqual(['settlement.failed'])
  })
})

test('nothing is sent while the account is disabled, and what waits once it is enabled', async () => {
  const receiver = await startWebhookReceiver()
  const [held, other] = [await merchant({ url: receiver.url }), await merchant({ url: receiver.url })]
  const { pool } = facilitator.database
  const id = await rows.settlement(held.clientId)
  // The event and the end of the account's access are one commit: no replica claims in between.
  const session = await pool.connect()
  await session.query('BEGIN')
  await session.query(`UPDATE settlements SET status = 'failed', error_reason = 'x' WHERE id = $1`, [id])
  await session.query('UPDATE users SET disabled_at = now() WHERE email = $1', [held.account.email])
  await session.query('COMMIT')
  session.release()
  const next = await rows.settlement(other.clientId)
  await change(next, `status = 'failed', error_reason = 'x'`)
  await receiver.until(1)
  await pool.query('UPDATE users SET disabled_at = NULL WHERE email = $1', [held.account.email])
  const received = await receiver.until(2)
  expect(received.map(({ text }) => (JSON.parse(text) as Event).data.id)).toEqual([String(next), String(id)])
})

test('another user sees and changes none of it: each route is 404', async () => {
  const receiver = await startWebhookReceiver()
  const [owner, other] = [await merchant({ url: receiver.url }), await merchant({ hasWebhook: false })]
  const { api } = facilitator
  const path = `${HOOKS}/${owner.webhook?.id}`
  const sent = await api.post(`${path}/test`).set(owner.account.authorization).expect(200)
  const delivery = `${path}/deliveries/${(sent.body as { data: { id: string } }).data.id}`
  const tryAs = ({ authorization }: Pick<Account, 'authorization'>) => [
    () => api.put(path).set(authorization).send({ description: 'mine' }),
    () => api.post(`${path}/secret`).set(authorization),
    () => api.post(`${path}/test`).set(authorization),
    () => api.post(`${path}/replay`).set(authorization).send({ from: '2026-01-15T12:00:00Z' }),
    () => api.get(`${path}/deliveries`).set(authorization),
    () => api.get(delivery).set(authorization),
    () => api.post(`${delivery}/replay`).set(authorization),
    () => api.delete(path).set(authorization),
  ]
  const readOwn = async () =>
    (await api.get(HOOKS).set(owner.account.authorization).expect(200)).body as unknown
  const before = await readOwn()
  for (const request of tryAs(other.account)) expect(codeOf(await request())).toEqual([404, 'NOT_FOUND'])
  expect((await api.get(HOOKS).set(other.account.authorization)).body).toEqual({ data: [] })
  expect(await readOwn()).toEqual(before)
  // Of an own webhook, the delivery of another one.
  const own = await newWebhook(facilitator, other.account)
  const foreign = delivery.replace(String(owner.webhook?.id), own.id)
  for (const request of [api.get(foreign), api.post(`${foreign}/replay`)])
    expect(codeOf(await request.set(other.account.authorization))).toEqual([404, 'NOT_FOUND'])
  expect(codeOf(await api.get(HOOKS))).toEqual([401, 'UNAUTHORIZED'])
  for (const request of tryAs(owner.account)) expect((await request()).status).toBe(200)
})

test('the secret is shown once, kept out of the log, and replaced by a rotation: both sign the next request', async () => {
  const receiver = await startWebhookReceiver()
  const { account, webhook } = await merchant({ url: receiver.url })
  const { api } = facilitator
  expect(webhook?.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  const list = await api.get(HOOKS).set(account.authorization).expect(200).expect('Cache-Control', 'no-store')
  expect(list.text).not.toContain('whsec_')
  const rotated = await api.post(`${HOOKS}/${webhook?.id}/secret`).set(account.authorization).expect(200)
  const { data } = rotated.body as { data: { secret: string; secretRotatedAt: string } }
  expect(data.secret).not.toBe(webhook?.secret)
  expect(Date.parse(data.secretRotatedAt)).toBeGreaterThan(Date.now() - 60_000)
  await api.post(`${HOOKS}/${webhook?.id}/test`).set(account.authorization).expect(200)
  const [received] = await receiver.until(1)
  for (const secret of [webhook!.secret, data.secret])
    new Webhook(secret).verify(received!.text, received!.headers as Record<string, string>)
})

test('an account has at most ten webhooks, however many requests come at once', async () => {
  const { account } = await merchant({ hasWebhook: false })
  const create = () =>
    facilitator.api.post(HOOKS).set(account.authorization).send({ url: 'https://shop.example/hooks' })
  const statuses = (await Promise.all(Array.from({ length: 15 }, create))).map(({ status }) => status)
  expect(statuses.filter((status) => status === 201)).toHaveLength(10)
  expect(statuses.filter((status) => status === 409)).toHaveLength(5)
})

test.each([
  ['http of a public host', { url: 'http://8.8.8.8/hooks' }, 'url'],
  ['a private address', { url: 'https://10.0.0.1/hooks' }, 'url'],
  ['credentials in the URL', { url: 'https://user:password@shop.example/' }, 'url'],
  ['another scheme', { url: 'gopher://shop.example/' }, 'url'],
  ['a URL that is too long', { url: `https://shop.example/${'x'.repeat(2_048)}` }, 'url'],
  ['an unknown type', { url: 'https://shop.example/', events: ['settlement.made'] }, 'events'],
])('a webhook with %s is refused', async (_, body, field) => {
  const { account } = await merchant({ hasWebhook: false })
  const answer = await facilitator.api.post(HOOKS).set(account.authorization).send(body)
  expect(codeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
  expect((answer.body as { message: string }).message).toContain(field)
})

test('deliveries are listed in pages, with their body and the log of their attempts', async () => {
  const receiver = await startWebhookReceiver((res) => void res.writeHead(500).end())
  const { account } = await merchant({ hasWebhook: false })
  const { id } = await newWebhook(facilitator, account, { url: receiver.url })
  const { api } = facilitator
  for (let n = 0; n < 3; n++) await api.post(`${HOOKS}/${id}/test`).set(account.authorization).expect(200)
  type Page = { data: { deliveries: { id: string; lastError: string | null }[]; next: string | null } }
  const page = async (query: object) =>
    (
      (await api.get(`${HOOKS}/${id}/deliveries`).query(query).set(account.authorization).expect(200))
        .body as Page
    ).data
  const all = await eventually(
    () => page({}),
    ({ deliveries }) => deliveries.some(({ lastError }) => lastError !== null),
  )
  const first = await page({ limit: 2, state: 'pending' })
  const second = await page({ limit: 2, cursor: first.next })
  expect([...first.deliveries, ...second.deliveries].map((each) => each.id)).toEqual(
    all.deliveries.map((each) => each.id),
  )
  expect(second.next).toBeNull()
  expect((await page({ state: 'failed' })).deliveries).toEqual([])
  const tried = all.deliveries.find(({ lastError }) => lastError !== null)
  const detail = await api
    .get(`${HOOKS}/${id}/deliveries/${tried?.id}`)
    .set(account.authorization)
    .expect(200)
  expect(detail.body).toMatchObject({
    data: {
      type: 'webhook.test',
      state: 'pending',
      lastStatus: 500,
      payload: { type: 'webhook.test', data: { endpoint: id } },
      log: [{ status: 500, error: 'status 500 is not 2xx' }],
    },
  })
  const [shown] = (
    (await api.get(HOOKS).set(account.authorization)).body as { data: { failingSince: string }[] }
  ).data
  expect(Date.parse(shown!.failingSince)).toBeGreaterThan(Date.now() - 60_000)
})
