import { closeAll, eventually, startWebhookReceiver } from '@tollgate/testing'
import { Webhook } from 'standardwebhooks'
import { insertPayment, randomAddress } from '../testing/accounts'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { createBuy, createCall } from '../testing/wallet'
import { EMIT_OVERDUE } from './overdue-sql'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.deliveryWorker.begin()
})
afterAll(async () => {
  await gateway.deliveryWorker.close()
  await closeAll()
})

type Created = { id: string; secret: string; balance_below: number | null }
type Event = { type: string; data: Record<string, unknown> }

const URL = 'https://app.example/hooks'

async function owner() {
  const wallet = gateway.wallet()
  const { token } = await wallet.signIn()
  const headers = { authorization: `Bearer ${token}` }
  return {
    wallet,
    token,
    headers,
    async create(body: object = {}) {
      const sent = gateway.api
        .post('/webhooks')
        .set(headers)
        .send({ url: URL, ...body })
      return (await sent.expect(201)).body as Created
    },
  }
}

async function eventsOf(subject: string): Promise<Event[]> {
  const text = 'SELECT type, data FROM webhook_events WHERE subject = $1 ORDER BY id'
  return (await gateway.pool.query<Event>(text, [subject])).rows
}
const typesOf = async (subject: string) => (await eventsOf(subject)).map(({ type }) => type)

async function lowEventsOf(endpointId: string): Promise<Event['data'][]> {
  const text = `SELECT event.data FROM webhook_deliveries JOIN webhook_events AS event ON event.id = event_id
    WHERE endpoint_id = $1 AND type = 'credits.low' ORDER BY event.id`
  return (await gateway.pool.query<Event>(text, [endpointId])).rows.map(({ data }) => data)
}

test('a purchase is sent as settled and as bought, in this order, to a wallet of any of its sessions', async () => {
  const receiver = await startWebhookReceiver()
  const { wallet, token, create } = await owner()
  const { secret } = await create({ url: receiver.url })
  await createBuy(gateway.api, token)(await wallet.pay()).expect(200)
  const events = (await receiver.until(2)).map(
    ({ text, headers }) => new Webhook(secret).verify(text, headers as Record<string, string>) as Event,
  )
  expect(events.map(({ type }) => type)).toEqual(['payment.settled', 'credits.bought'])
  const page = await gateway.api.get(`/payments/${wallet.address}`).expect(200)
  const [record] = (page.body as { data: object[] }).data
  expect(events[1]?.data).toEqual(record)
  expect(events[0]?.data).toEqual({ ...record, status: 'settled' })
})

describe('each change of state is an event, in order:', () => {
  test.each([
    ['settled and credited', ['settling', 'settled', 'credited'], ['payment.settled', 'credits.bought']],
    ['refused and opened again', ['failed', 'received', 'settled'], ['payment.failed', 'payment.settled']],
    ['disputed and closed', ['disputed', 'failed'], ['payment.failed', 'payment.failed']],
  ])('%s', async (_, states, types) => {
    const { wallet, create } = await owner()
    await create()
    const id = await insertPayment(gateway.pool, { wallet: wallet.address, credits: 1, status: 'received' })
    for (const state of states)
      await gateway.pool.query('UPDATE payments SET status = $2, updated_at = now() WHERE id = $1', [
        id,
        state,
      ])
    expect(await typesOf(id)).toEqual(types)
    await gateway.pool.query('DELETE FROM payments WHERE id = $1', [id])
  })

  test('reversed, and settled after all; nothing while both stay as they are', async () => {
    const { wallet, create } = await owner()
    await create()
    const id = await insertPayment(gateway.pool, { wallet: wallet.address, credits: 1 })
    const change = (changes: string) =>
      gateway.pool.query(`UPDATE payments SET ${changes}, updated_at = now() WHERE id = $1`, [id])
    const times = `reversed_at = now() + interval '1 second'`
    for (const each of ['reversed_at = now()', times, `status = 'credited'`, 'reversed_at = NULL'])
      await change(each)
    const events = await eventsOf(id)
    expect(events.map(({ type, data }) => [type, data['status'], data['reversed_at'] !== null])).toEqual([
      ['payment.reversed', 'settled', true],
      ['credits.bought', 'credited', true],
      ['payment.settled', 'credited', false],
    ])
    await gateway.pool.query('DELETE FROM payments WHERE id = $1', [id])
  })

  test('of a payment without a session, for its wallet', async () => {
    const { wallet, create } = await owner()
    const { id } = await create({ events: ['credits.bought'] })
    await gateway.fund(wallet.address, 10)
    const text = 'SELECT count(*)::int AS count FROM webhook_deliveries WHERE endpoint_id = $1'
    expect((await gateway.pool.query(text, [id])).rows).toEqual([{ count: 1 }])
  })
})

test('a payment that is open for more than a minute is one event, and another one if it is opened again', async () => {
  const { wallet, create } = await owner()
  await create()
  const scan = () => gateway.pool.query(EMIT_OVERDUE)
  /** A scan skips what another one is writing. */
  const scanUntil = (events: number) =>
    eventually(
      async () => {
        await scan()
        return typesOf(id)
      },
      (types) => types.length === events,
    )
  const payment = { wallet: wallet.address, credits: 1, status: 'settling' }
  const [id, young] = [await insertPayment(gateway.pool, payment), await insertPayment(gateway.pool, payment)]
  await gateway.pool.query(`UPDATE payments SET created_at = now() - interval '61 seconds' WHERE id = $1`, [
    id,
  ])
  await Promise.all(Array.from({ length: 8 }, scan))
  await scanUntil(1)
  expect([await typesOf(id), await typesOf(young)]).toEqual([['payment.pending'], []])
  await gateway.pool.query(`UPDATE payments SET status = 'failed' WHERE id = $1`, [id])
  await scan()
  await gateway.pool.query(`UPDATE payments SET status = 'received', round = 2 WHERE id = $1`, [id])
  await scanUntil(3)
  await scan()
  expect(await typesOf(id)).toEqual(['payment.pending', 'payment.failed', 'payment.pending'])
  await gateway.pool.query('DELETE FROM payments WHERE id = ANY($1)', [[id, young]])
})

describe('credits.low', () => {
  const spendUntil = async (token: string, calls: number) => {
    for (let n = 0; n < calls; n++) await createCall(gateway.api, token)().expect(200)
    await gateway.ledger.drain()
  }

  test('comes once when the balance falls below the limit, and again after it was above', async () => {
    const { wallet, token, create } = await owner()
    const { id, balance_below: limit } = await create({ balance_below: 8 })
    expect(limit).toBe(8)
    await gateway.fund(wallet.address, 10)
    await spendUntil(token, 2)
    expect(await lowEventsOf(id)).toEqual([])
    await spendUntil(token, 3)
    const low = { pricing_plan_id: 1, remaining_credits: 7, balance_below: 8 }
    expect(await lowEventsOf(id)).toEqual([low])
    await gateway.fund(wallet.address, 5)
    await spendUntil(token, 3)
    expect(await lowEventsOf(id)).toEqual([low, low])
  })

  test('comes once for calls that are given back at the limit, and again after a purchase', async () => {
    const { wallet, create } = await owner()
    const [low, lower] = [await create({ balance_below: 8 }), await create({ balance_below: 7 })]
    await gateway.fund(wallet.address, 8)
    const reserve = (credits: number) =>
      gateway.pool.query('UPDATE accounts SET balance = balance - $2 WHERE wallet = $1', [
        wallet.address,
        credits,
      ])
    for (let call = 0; call < 3; call++) {
      await reserve(1)
      await reserve(-1)
    }
    expect([await lowEventsOf(low.id), await lowEventsOf(lower.id)]).toMatchObject([
      [{ remaining_credits: 7 }],
      [],
    ])
    // A lower limit has not been told yet.
    await reserve(2)
    await reserve(-2)
    await reserve(8)
    expect([await lowEventsOf(low.id), await lowEventsOf(lower.id)]).toMatchObject([
      [{ remaining_credits: 7 }],
      [{ remaining_credits: 6 }],
    ])
    await gateway.fund(wallet.address, 9)
    await reserve(2)
    expect([await lowEventsOf(low.id), await lowEventsOf(lower.id)]).toMatchObject([
      [{}, { remaining_credits: 7 }],
      [{}],
    ])
    await gateway.pool.query('UPDATE accounts SET balance = 17 WHERE wallet = $1', [wallet.address])
  })

  test('goes to each endpoint at its own limit, and follows changes of the endpoints', async () => {
    const { wallet, token, headers, create } = await owner()
    await gateway.fund(wallet.address, 10)
    const [high, low, other] = [
      await create({ balance_below: 9 }),
      await create({ balance_below: 7 }),
      await create({ balance_below: 9, events: ['credits.bought'] }),
    ]
    await spendUntil(token, 2)
    expect([await lowEventsOf(high.id), await lowEventsOf(low.id)]).toMatchObject([
      [{ remaining_credits: 8 }],
      [],
    ])
    await gateway.api.put(`/webhooks/${low.id}`).set(headers).send({ balance_below: 5 }).expect(200)
    await spendUntil(token, 3)
    expect(await lowEventsOf(low.id)).toEqual([])
    await spendUntil(token, 1)
    expect(await lowEventsOf(low.id)).toMatchObject([{ remaining_credits: 4, balance_below: 5 }])
    await gateway.api.put(`/webhooks/${high.id}`).set(headers).send({ balance_below: null }).expect(200)
    await gateway.api.delete(`/webhooks/${low.id}`).set(headers).expect(200)
    await gateway.fund(wallet.address, 6)
    await spendUntil(token, 6)
    expect([
      await lowEventsOf(high.id),
      await lowEventsOf(low.id),
      await lowEventsOf(other.id),
    ]).toMatchObject([[{}], [{}], []])
    const limits = 'SELECT low_balances FROM accounts WHERE wallet = $1'
    expect((await gateway.pool.query(limits, [wallet.address])).rows).toEqual([{ low_balances: null }])
  })

  test('costs a change of endpoints no look at deleted ones', async () => {
    const { wallet, create } = await owner()
    await create({ balance_below: 8 })
    await gateway.pool.query(
      `INSERT INTO webhook_endpoints (owner, id, url, events, description, secret, threshold, active, deleted_at)
      SELECT $1, gen_random_uuid(), '', '{}', '', '', NULL, false, now() FROM generate_series(1, 5000)`,
      [wallet.address],
    )
    const session = await gateway.pool.connect()
    await session.query('BEGIN')
    const text = `SELECT (seq_tup_read + idx_tup_fetch)::int AS rows FROM pg_stat_xact_user_tables WHERE relname = 'webhook_endpoints'`
    const read = async () => (await session.query<{ rows: number }>(text)).rows[0]!.rows
    const before = await read()
    expect((await session.query('SELECT low_balances_of(ARRAY[$1]) AS low', [wallet.address])).rows).toEqual([
      { low: [8n] },
    ])
    expect((await read()) - before).toBeLessThanOrEqual(5)
    await session.query('ROLLBACK')
    session.release()
  })

  test('is not missed by an account that is made while an endpoint is', async () => {
    const { wallet, create } = await owner()
    const session = await gateway.pool.connect()
    await session.query('BEGIN')
    await session.query('INSERT INTO accounts (wallet, pricing_plan_id) VALUES ($1, 1)', [wallet.address])
    const created = create({ balance_below: 8 })
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND datname = current_database()`
    const isWaiting = eventually(
      () => gateway.pool.query(waiting),
      ({ rowCount }) => rowCount === 1,
    )
    await Promise.race([created, isWaiting])
    await session.query('COMMIT')
    session.release()
    await created
    const limits = 'SELECT low_balances FROM accounts WHERE wallet = $1'
    expect((await gateway.pool.query(limits, [wallet.address])).rows).toEqual([{ low_balances: [8n] }])
  })

  test('of a batch that crosses several limits comes for each of them', async () => {
    const { wallet, create } = await owner()
    const made = [await create({ balance_below: 9 }), await create({ balance_below: 5 })]
    await gateway.fund(wallet.address, 10)
    await gateway.pool.query('UPDATE accounts SET balance = 2 WHERE wallet = $1', [wallet.address])
    for (const { id } of made) expect(await lowEventsOf(id)).toMatchObject([{ remaining_credits: 2 }])
    await gateway.pool.query('UPDATE accounts SET balance = 10 WHERE wallet = $1', [wallet.address])
  })
})

test('another wallet sees and changes none of it: each route is 404; an ended session neither', async () => {
  const receiver = await startWebhookReceiver()
  const [one, other] = [await owner(), await owner()]
  const { id } = await one.create({ url: receiver.url })
  const { api } = gateway
  const path = `/webhooks/${id}`
  const sent = await api.post(`${path}/test`).set(one.headers).expect(200)
  const delivery = `${path}/deliveries/${(sent.body as { id: string }).id}`
  const tryAs = (headers: { authorization: string }) => [
    () => api.put(path).set(headers).send({ description: 'mine' }),
    () => api.post(`${path}/secret`).set(headers),
    () => api.post(`${path}/test`).set(headers),
    () => api.post(`${path}/replay`).set(headers).send({ from: '2026-01-15T12:00:00Z' }),
    () => api.get(`${path}/deliveries`).set(headers),
    () => api.get(delivery).set(headers),
    () => api.post(`${delivery}/replay`).set(headers),
    () => api.delete(path).set(headers),
  ]
  const readOwn = async () => (await api.get('/webhooks').set(one.headers).expect(200)).body as unknown
  const before = await readOwn()
  for (const request of tryAs(other.headers)) expect(outcomeOf(await request())).toEqual([404, 'NOT_FOUND'])
  expect((await api.get('/webhooks').set(other.headers)).body).toEqual({ data: [] })
  expect(await readOwn()).toEqual(before)
  const own = await other.create()
  const foreign = delivery.replace(id, own.id)
  for (const request of [api.get(foreign), api.post(`${foreign}/replay`)])
    expect(outcomeOf(await request.set(other.headers))).toEqual([404, 'NOT_FOUND'])

  const second = await one.wallet.signIn()
  const ofSecond = { authorization: `Bearer ${second.token}` }
  await api.post('/auth/logout').set(one.headers).expect(200)
  for (const request of tryAs(one.headers)) expect(outcomeOf(await request())).toEqual([403, 'REVOKED_TOKEN'])
  for (const request of tryAs(ofSecond)) expect((await request()).status).toBe(200)
})

test('deliveries have their names in snake case, and their body as it was sent', async () => {
  const receiver = await startWebhookReceiver((res) => void res.writeHead(503).end())
  const { headers, create } = await owner()
  const { id } = await create({ url: receiver.url })
  await gateway.api.post(`/webhooks/${id}/test`).set(headers).expect(200)
  const list = async () =>
    (await gateway.api.get(`/webhooks/${id}/deliveries`).set(headers).expect(200)).body as {
      data: { id: string; last_error: string | null }[]
      next: string | null
    }
  const { data } = await eventually(list, (page) => page.data.some(({ last_error }) => last_error !== null))
  expect(data).toMatchObject([{ state: 'pending', attempts: 1, last_status: 503 }])
  const detail = await gateway.api.get(`/webhooks/${id}/deliveries/${data[0]?.id}`).set(headers).expect(200)
  expect(detail.body).toMatchObject({
    message_id: expect.stringMatching(/^msg_[0-9a-f]{32}$/) as string,
    payload: { type: 'webhook.test', data: { endpoint: id } },
    log: [{ status: 503, duration_ms: expect.any(Number) as number }],
  })
})

test('a rotation returns a new secret, and both sign the next request', async () => {
  const receiver = await startWebhookReceiver()
  const { headers, create } = await owner()
  const { id, secret } = await create({ url: receiver.url })
  const rotated = await gateway.api.post(`/webhooks/${id}/secret`).set(headers).expect(200)
  const { secret: next } = rotated.body as Created
  expect(next).not.toBe(secret)
  await gateway.api.post(`/webhooks/${id}/test`).set(headers).expect(200)
  const [received] = await receiver.until(1)
  for (const key of [secret, next])
    new Webhook(key).verify(received!.text, received!.headers as Record<string, string>)
})

test.each([
  ['a limit of zero', { balance_below: 0 }, 'balance_below'],
  ['an unknown type', { events: ['credits.lost'] }, 'events'],
  ['a private address', { url: 'https://192.168.0.1/' }, 'url'],
])('a webhook with %s is refused', async (_, body, field) => {
  const { headers } = await owner()
  const answer = await gateway.api
    .post('/webhooks')
    .set(headers)
    .send({ url: URL, ...body })
  expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
  expect((answer.body as { message: string }).message).toContain(field)
})

test('a wallet without a webhook causes no event', async () => {
  const wallet = randomAddress()
  await gateway.fund(wallet, 10)
  const text = `SELECT FROM webhook_events WHERE data ->> 'payer' = $1`
  expect((await gateway.pool.query(text, [wallet])).rowCount).toBe(0)
})
