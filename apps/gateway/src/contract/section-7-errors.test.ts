import { closeAll } from '@tollgate/testing'
import { typesOf } from '../testing/fields'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { answers, getRefusingUrl, startUpstream } from '../testing/upstream'
import { createBuy, createCall, type TestSession, type TestWallet } from '../testing/wallet'

let gateway: TestGateway
let wallet: TestWallet
let session: TestSession
beforeAll(async () => {
  gateway = await testGateway({ inProcess: true })
  gateway.clock.stop()
})
beforeEach(async () => {
  wallet = gateway.wallet()
  await gateway.fund(wallet.address, 10)
  session = await wallet.signIn()
})
afterAll(closeAll)

const login = (body: object) => gateway.api.post('/auth/login').send(body)
const logout = (token: string) => gateway.api.post('/auth/logout').set('Authorization', `Bearer ${token}`)
const call = (token: string) => createCall(gateway.api, token)()

const buy = (token: string) => createBuy(gateway.api, token)()

const refusedOf = async (token: string) => [
  outcomeOf(await call(token)),
  outcomeOf(await buy(token)),
  outcomeOf(await logout(token)),
]

describe('7. Authentication errors', () => {
  test('401 | INVALID_SIGNATURE | signature does not match the address', async () => {
    const body = await wallet.login()
    const signature = await gateway.wallet().signer.signMessage(body.message)
    for (const forged of [signature, '0x1234', 'nonsense', `0x${'0'.repeat(130)}`])
      expect(outcomeOf(await login({ ...body, signature: forged }))).toEqual([401, 'INVALID_SIGNATURE'])
  })

  test('401 | EXPIRED_NONCE | nonce has expired', async () => {
    const nonce = await wallet.nonce()
    gateway.clock.advance(301)
    expect(outcomeOf(await login(await wallet.login({}, { nonce })))).toEqual([401, 'EXPIRED_NONCE'])
  })

  test('401 | INVALID_TOKEN | JWT invalid or malformed', async () => {
    const [header = '', claims = '', signature = ''] = session.token.split('.')
    const other = (await gateway.wallet().signIn()).token.split('.')[1] ?? ''
    for (const token of [
      'x',
      'a.b.c',
      `${header}.${claims}.`,
      `${header}.${other}.${signature}`,
      session.refresh_token,
    ])
      expect(await refusedOf(token)).toEqual([
        [401, 'INVALID_TOKEN'],
        [401, 'INVALID_TOKEN'],
        [401, 'INVALID_TOKEN'],
      ])
  })

  test('401 | EXPIRED_TOKEN | JWT has expired', async () => {
    gateway.clock.advance(3_601)
    expect(await refusedOf(session.token)).toEqual([
      [401, 'EXPIRED_TOKEN'],
      [401, 'EXPIRED_TOKEN'],
      [401, 'EXPIRED_TOKEN'],
    ])
  })

  test('403 | REVOKED_TOKEN | token has been revoked', async () => {
    await logout(session.token).expect(200)
    expect(await refusedOf(session.token)).toEqual([
      [403, 'REVOKED_TOKEN'],
      [403, 'REVOKED_TOKEN'],
      [403, 'REVOKED_TOKEN'],
    ])
  })
})

describe('7. General statuses', () => {
  test('400 | invalid or missing fields', async () => {
    const refused = [400, 'INVALID_REQUEST']
    expect(outcomeOf(await login({}))).toEqual(refused)
    expect(outcomeOf(await gateway.api.post('/auth/refresh').send({}))).toEqual(refused)
    expect(outcomeOf(await gateway.api.get('/auth/nonce').query({ address: 'x' }))).toEqual(refused)
    expect(outcomeOf(await gateway.api.get('/pricing/x'))).toEqual(refused)
    expect(outcomeOf(await gateway.api.get('/providers/x'))).toEqual(refused)
    expect(outcomeOf(await session.call({ transport: 'ws' }))).toEqual(refused)
    for (const path of ['credits', 'history', 'payments'])
      expect(outcomeOf(await gateway.api.get(`/${path}/x`))).toEqual(refused)
  })

  test('401 | missing or invalid JWT', async () => {
    expect(outcomeOf(await gateway.api.post('/rpc').send({}))).toEqual([401, 'INVALID_TOKEN'])
    expect(outcomeOf(await gateway.api.post('/auth/logout'))).toEqual([401, 'INVALID_TOKEN'])
    expect(outcomeOf(await gateway.api.post('/credits'))).toEqual([401, 'INVALID_TOKEN'])
    expect(outcomeOf(await call('x'))).toEqual([401, 'INVALID_TOKEN'])
  })

  test('402 | no credits; body carries `paymentRequirements`', async () => {
    const answer = await (await gateway.wallet().signIn()).call().expect(402)
    expect(answer.body).toHaveProperty('paymentRequirements.payTo')
    expect(answer.headers['cache-control']).toBe('no-store')
    expect((await session.buy().expect(402)).body).toHaveProperty('paymentRequirements.payTo')
  })

  test('404 | unknown provider, chain or plan', async () => {
    const unknown = [404, 'NOT_FOUND']
    const query = { category: 'evm', chain_id: '84532' }
    expect(outcomeOf(await gateway.api.get('/providers/unknown').query(query))).toEqual(unknown)
    expect(
      outcomeOf(await gateway.api.get('/providers/provider-84532').query({ ...query, chain_id: '1' })),
    ).toEqual(unknown)
    expect(outcomeOf(await session.call({ chain_id: '1' }))).toEqual(unknown)
    expect(outcomeOf(await session.call({ ecosystem: 'cosmos' }))).toEqual(unknown)
    expect(outcomeOf(await gateway.api.get('/pricing/999'))).toEqual(unknown)
    expect(outcomeOf(await login(await wallet.login({ pricing_plan_id: 999 })))).toEqual(unknown)
  })

  test.each([
    ['refuses the connection', undefined],
    ['cuts the connection', answers.reset],
    ['redirects', answers.status(302, '', { location: 'http://127.0.0.1:9/' })],
  ])('500 | upstream failure | %s', async (_, answer) => {
    const url = answer ? (await startUpstream(answer)).url : await getRefusingUrl()
    const failed = await session.call({ chain_id: await gateway.chain(url) })
    expect(outcomeOf(failed)).toEqual([500, 'UPSTREAM_FAILED'])
    expect(failed.text).not.toContain('127.0.0.1')
    const body: unknown = (await gateway.api.get(`/credits/${wallet.address}`)).body
    expect(body).toEqual([{ pricing_plan_id: 1, remaining_credits: 10 }])
  })

  test('500 | gateway failure', async () => {
    const body = await wallet.login()
    for (const table of ['accounts', 'sessions'])
      await gateway.pool.query(`ALTER TABLE ${table} RENAME TO no_${table}`)
    const failed = [await gateway.api.get(`/credits/${wallet.address}`), await login(body)]
    for (const table of ['accounts', 'sessions'])
      await gateway.pool.query(`ALTER TABLE no_${table} RENAME TO ${table}`)
    for (const answer of failed) {
      expect(outcomeOf(answer)).toEqual([500, 'INTERNAL_ERROR'])
      expect(answer.text).not.toMatch(/accounts|sessions|relation|select/i)
    }
  })

  test('body of every error but the 402 | `code` and `message`, both strings, and no more', async () => {
    const refused = [
      await login({}),
      await call('x'),
      await gateway.api.get('/pricing/999'),
      await gateway.api.get('/nothing'),
      await session.call({ chain_id: await gateway.chain(await getRefusingUrl()) }),
    ]
    for (const { body, headers } of refused) {
      expect(typesOf(body)).toEqual({ code: 'string', message: 'string' })
      expect(headers['content-type']).toMatch(/^application\/json\b/)
    }
  })
})
