import { type AccessKey, type CreatedAccessKey } from '@tollgate/protocol'
import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { blockNumber, post } from '../testing/plain'
import { answers, getRefusingUrl, startUpstream } from '../testing/upstream'

let gateway: TestGateway
let replica: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  replica = await testGateway({ beside: gateway })
})
afterAll(() => auditAndClose(gateway, replica))

async function owner(credits = 100) {
  const wallet = gateway.wallet()
  if (credits > 0) await gateway.fund(wallet.address, credits)
  const { token } = await wallet.signIn()
  const headers = { authorization: `Bearer ${token}` }
  return {
    wallet,
    headers,
    create: (limits: object = {}) =>
      gateway.api
        .post('/keys')
        .set(headers)
        .send({ label: 'app', ...limits }),
    list: async () =>
      ((await gateway.api.get('/keys').set(headers).expect(200)).body as { data: AccessKey[] }).data,
    remove: (id: string) => gateway.api.delete(`/keys/${id}`).set(headers),
    balance: () => balanceOf(gateway.ledger, wallet.address),
  }
}

async function keyOf(limits: object = {}, credits = 100) {
  const holder = await owner(credits)
  const created = (await holder.create(limits).expect(201)).body as CreatedAccessKey
  const call = (body: unknown = blockNumber, headers = {}, { api } = gateway, chain = '84532') =>
    post(api, `/v1/${chain}/${created.key}`, body, headers)
  return { ...holder, created, call }
}

const batchOf = (size: number) => Array.from({ length: size }, (_, id) => ({ ...blockNumber, id }))

test('the secret is shown once, and only its hash is stored', async () => {
  const { created, list } = await keyOf({ max_credits: 5 })
  expect(created.key).toMatch(/^tgk_[A-Za-z0-9_-]{43}$/)
  expect(created.url).toBe(`https://gateway.example/v1/{chain}/${created.key}`)
  const [listed] = await list()
  expect(listed).toMatchObject({ id: created.id, label: 'app', max_credits: 5, spent_credits: 0 })
  expect(JSON.stringify(listed)).not.toContain(created.key)
  const text = 'SELECT access_keys::text AS row FROM access_keys WHERE id = $1'
  const { rows } = await gateway.pool.query<{ row: string }>(text, [created.id])
  expect(rows[0]?.row).toContain(created.id)
  expect(rows[0]?.row).not.toContain(created.key)
})

test('a call by its URL spends the credits of its wallet, and the history shows its label', async () => {
  const { call, balance, list, wallet } = await keyOf({ label: 'block explorer' })
  const answer = await call()
  expect([answer.status, answer.body]).toEqual([200, { jsonrpc: '2.0', id: 1, result: '0x1' }])
  expect(await balance()).toBe(99n)
  expect(await list()).toMatchObject([{ spent_credits: 1, spent_credits_today: 1 }])
  const history = await gateway.api.get(`/history/${wallet.address}`)
  expect(history.body).toMatchObject({
    data: [{ key_label: 'block explorer', rpc_method: 'eth_blockNumber' }],
  })
})

test('it outlives the session that made it', async () => {
  const { call, headers } = await keyOf()
  await gateway.api.post('/auth/logout').set(headers).expect(200)
  await call().expect(200)
  expect(outcomeOf(await gateway.api.post('/keys').set(headers).send({ label: 'x' }))).toEqual([
    403,
    'REVOKED_TOKEN',
  ])
})

test('a deleted key is dead at once, on a replica that has just used it', async () => {
  const { call, created, remove, balance } = await keyOf()
  await call(blockNumber, {}, replica).expect(200)
  expect((await remove(created.id)).body).toEqual({ deleted: created.id })
  for (const each of [gateway, replica])
    expect(outcomeOf(await call(blockNumber, {}, each))).toEqual([401, 'INVALID_TOKEN'])
  expect(await balance()).toBe(99n)
  expect(outcomeOf(await remove(created.id))).toEqual([404, 'NOT_FOUND'])
})

test('a dead key no longer counts against its wallet', async () => {
  const { call, created, remove } = await keyOf()
  await call().expect(200)
  await remove(created.id)
  expect(outcomeOf(await call())).toEqual([401, 'INVALID_TOKEN'])
  const { headers } = await call()
  expect(JSON.stringify(headers['ratelimit-policy'])).not.toContain('rpc')
})

test.each([
  (key: string) => `/v1/84532/x/${key}`,
  (key: string) => `/v1/84532/${key.slice(0, -1)}/status`,
  (key: string) => `/v1/84532/rest/${key}/x`,
])('a misplaced or incomplete key is refused, and in no answer', async (pathOf) => {
  const { created, headers } = await keyOf()
  for (const sent of [headers, {}]) {
    const answer = await gateway.api.get(pathOf(created.key)).set(sent)
    expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
    expect(JSON.stringify([answer.body, answer.headers])).not.toContain(created.key.slice(4, 20))
  }
})

test('an expired key is refused, also where it is remembered', async () => {
  const { call, created } = await keyOf({ expires_at: '2999-01-01T00:00:00Z' })
  await call().expect(200)
  await gateway.pool.query('UPDATE access_keys SET expires_at = now() WHERE id = $1', [created.id])
  expect(outcomeOf(await call())).toEqual([401, 'INVALID_TOKEN'])
  expect(outcomeOf(await call(blockNumber, {}, replica))).toEqual([401, 'INVALID_TOKEN'])
})

describe('its limits', () => {
  test.each([
    ['in all', { max_credits: 5 }],
    ['of a day', { max_credits_per_day: 5 }],
    ['of both, the lower', { max_credits: 9, max_credits_per_day: 5 }],
  ])('hold %s against fifty calls at once on two replicas', async (_, limits) => {
    const { call, balance, list } = await keyOf(limits)
    const outcomes = await Promise.all(
      Array.from({ length: 50 }, (__, index) => call(blockNumber, {}, [gateway, replica][index % 2])),
    )
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(5)
    const refused = outcomes.filter(({ status }) => status !== 200).map(outcomeOf)
    expect(refused).toEqual(Array.from({ length: 45 }, () => [403, 'FORBIDDEN']))
    expect(await balance()).toBe(95n)
    expect(await list()).toMatchObject([{ spent_credits: 5 }])
  })

  test('a batch above its limit is refused, and a smaller one served', async () => {
    const { call } = await keyOf({ max_credits: 5 })
    await call(batchOf(3)).expect(200)
    expect(outcomeOf(await call(batchOf(3)))).toEqual([403, 'FORBIDDEN'])
    await call(batchOf(2)).expect(200)
  })

  test('a day ends at midnight in UTC', async () => {
    const { call, created, list } = await keyOf({ max_credits_per_day: 1 })
    await call().expect(200)
    expect(outcomeOf(await call())).toEqual([403, 'FORBIDDEN'])
    await gateway.pool.query('UPDATE access_keys SET day = day - 1 WHERE id = $1', [created.id])
    expect(await list()).toMatchObject([{ spent_credits: 1, spent_credits_today: 0 }])
    await call().expect(200)
    expect(await list()).toMatchObject([{ spent_credits: 2, spent_credits_today: 1 }])
  })

  test('a refunded call does not count', async () => {
    const chain = await gateway.chain(await getRefusingUrl())
    const { call, list } = await keyOf({ max_credits: 1, max_credits_per_day: 1 })
    const failed = await call(blockNumber, {}, gateway, chain)
    expect(failed.body).toMatchObject({ error: { code: -32_603 } })
    await gateway.ledger.drain()
    expect(await list()).toMatchObject([{ spent_credits: 0, spent_credits_today: 0 }])
    await call().expect(200)
  })

  test('an account without credits is asked to pay, whatever the key allows', async () => {
    const { call } = await keyOf({ max_credits: 100 }, 0)
    const answer = await call()
    expect(answer.status).toBe(402)
    expect(JSON.stringify([answer.body, answer.headers])).not.toContain('tgk_')
  })
})

describe('it allows only its', () => {
  test('chains, by any name', async () => {
    const upstream = await startUpstream(answers.result())
    const other = await gateway.chain(upstream.url)
    const { call, created } = await keyOf({ chains: ['base-sepolia'] })
    expect(created.chains).toEqual(['eip155:84532'])
    await call().expect(200)
    await call(blockNumber, {}, gateway, 'eip155:84532').expect(200)
    expect(outcomeOf(await call(blockNumber, {}, gateway, other))).toEqual([403, 'FORBIDDEN'])
    expect(upstream.requests).toEqual([])
  })

  test('methods, in each entry of a batch, and no REST call', async () => {
    const { call, created, balance } = await keyOf({ methods: ['eth_blockNumber'] })
    await call().expect(200)
    const others = [
      { ...blockNumber, method: 'eth_call' },
      [blockNumber, { ...blockNumber, method: 'eth_call' }],
    ]
    for (const body of others) expect(outcomeOf(await call(body))).toEqual([403, 'FORBIDDEN'])
    const rest = await gateway.api.get(`/v1/84532/${created.key}/rest/x`)
    expect(outcomeOf(rest)).toEqual([403, 'FORBIDDEN'])
    expect(await balance()).toBe(99n)
  })

  test('origins, and no client without one', async () => {
    const { call } = await keyOf({ origins: ['https://app.example'] })
    await call(blockNumber, { origin: 'https://app.example' }).expect(200)
    for (const headers of [{}, { origin: 'https://evil.example' }, { origin: 'null' }])
      expect(outcomeOf(await call(blockNumber, headers))).toEqual([403, 'FORBIDDEN'])
  })
})

describe('a wallet has at most a hundred,', () => {
  async function ownerOf(sessionCount: number) {
    const holder = await owner(0)
    const sessions = await Promise.all(Array.from({ length: sessionCount }, () => holder.wallet.signIn()))
    const createFrom = (index: number) =>
      [gateway, replica]
        [index % 2]!.api.post('/keys')
        .set({ authorization: `Bearer ${sessions[index % sessionCount]!.token}` })
        .send({ label: `app ${index}` })
    return {
      ...holder,
      createAtOnce: async (count: number) =>
        (await Promise.all(Array.from({ length: count }, (_, index) => createFrom(index)))).map(outcomeOf),
    }
  }
  const created = [201, undefined]
  const refused = [409, 'CONFLICT']
  const sorted = (outcomes: unknown[][]) => outcomes.toSorted(([one], [other]) => Number(one) - Number(other))

  test('however many of its sessions ask at once, on two replicas', async () => {
    const { createAtOnce, list, create, remove } = await ownerOf(5)
    const outcomes = sorted(await createAtOnce(130))
    expect(outcomes).toEqual([...Array<unknown>(100).fill(created), ...Array<unknown>(30).fill(refused)])
    const keys = await list()
    expect(keys).toHaveLength(100)
    await remove(keys[0]!.id).expect(200)
    await create().expect(201)
  })

  test('also if ten ask before the first of them is stored', async () => {
    const { createAtOnce, list } = await ownerOf(5)
    await createAtOnce(99)
    // An insertion waits for its plan after it has counted.
    const lock = await gateway.pool.connect()
    await lock.query('BEGIN')
    await lock.query('SELECT FROM pricing_plans WHERE id = 1 FOR UPDATE')
    const outcomes = createAtOnce(10)
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
    while ((await lock.query(waiting)).rowCount !== 10);
    await lock.query('COMMIT')
    lock.release()
    expect(sorted(await outcomes)).toEqual([created, ...Array<unknown>(9).fill(refused)])
    expect(await list()).toHaveLength(100)
  })
})

test('another wallet sees and deletes none of it', async () => {
  const { created, call } = await keyOf()
  const stranger = await owner(0)
  expect(await stranger.list()).toEqual([])
  expect(outcomeOf(await stranger.remove(created.id))).toEqual([404, 'NOT_FOUND'])
  await call().expect(200)
})

test.each([
  ['no label', { label: '' }, 'label'],
  ['a label of two lines', { label: 'a\nb' }, 'label'],
  ['a chain that is not served', { chains: ['nowhere'] }, 'chains'],
  ['an end in the past', { expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
  ['no credits', { max_credits: 0 }, 'max_credits'],
  ['an origin with a path', { origins: ['https://app.example/'] }, 'origins'],
])('a key with %s is refused', async (_, limits, field) => {
  const answer = await (await owner(0)).create(limits)
  expect(outcomeOf(answer)).toEqual([400, 'INVALID_REQUEST'])
  expect((answer.body as { message: string }).message).toContain(field)
})

test('the secret is in no log line, whatever the path looks like, and a guess counts against its address', async () => {
  const { call, created } = await keyOf()
  const { key } = created
  await call().expect(200)
  await gateway.api.get(`/v1/84532/${key}/rest/x`)
  await gateway.api.get(`/v1/84532/${encodeURIComponent(key).replace('tgk_', '%74gk_')}`)
  await gateway.api.post(`/v1/84532/${key}x`)
  await gateway.api.post(`/V1/nowhere/x/${key}`)
  expect(outcomeOf(await post(gateway.api, `/v1/84532/tgk_${'x'.repeat(43)}`))).toEqual([
    401,
    'INVALID_TOKEN',
  ])
  const text = JSON.stringify(gateway.log.lines())
  expect(text).toContain('tgk_***')
  expect(text).not.toContain(key.slice(4, 20))

  const limited = await testGateway({ beside: gateway, environment: { RATE_LIMIT_AUTH_PER_MINUTE: 3 } })
  const guesses = await Promise.all(
    Array.from({ length: 9 }, (__, index) => post(limited.api, `/v1/84532/tgk_${String(index).repeat(43)}`)),
  )
  expect(guesses.filter(({ status }) => status === 429).length).toBeGreaterThan(0)
  await limited.ledger.drain()
})
