import { closeAll } from '@tollgate/testing'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'

let gateway: TestGateway
let address: string
beforeAll(async () => {
  gateway = await testGateway()
  ;({ address } = gateway.wallet())
})
afterAll(closeAll)

type Method = 'get' | 'post' | 'put' | 'delete' | 'patch'
const methods: Method[] = ['get', 'post', 'put', 'delete', 'patch']
const send = (method: Method, path: string, headers: Record<string, string> = {}) =>
  gateway.api[method](path).set(headers)

const at = (path: string) =>
  path
    .replace(':wallet', address)
    .replace('/pricing/:id', '/pricing/1')
    .replace('/providers/:id', '/providers/provider-84532?category=evm&chain_id=84532')

describe('4. Endpoints, without authentication', () => {
  test.each([
    ['GET', '/health'],
    ['GET', '/auth/nonce'],
    ['GET', '/pricing'],
    ['GET', '/pricing/:id'],
    ['GET', '/providers'],
    ['GET', '/providers/:id'],
    ['GET', '/x402/supported'],
    ['GET', '/credits/:wallet'],
    ['GET', '/history/:wallet'],
    ['GET', '/payments/:wallet'],
  ])('%s %s | none: responds without a token, and ignores any', async (_, path) => {
    for (const headers of [{}, { authorization: 'Bearer nonsense' }]) {
      const answer = await send('get', at(path), headers)
      expect(outcomeOf(answer)).toEqual([200, undefined])
      expect(answer.headers['content-type']).toMatch(/^application\/json\b/)
    }
  })

  test('POST /auth/login | none: accepts a login without a token', async () => {
    const body = await gateway.wallet().login()
    expect(outcomeOf(await send('post', '/auth/login').send(body))).toEqual([200, undefined])
  })

  test('POST /auth/refresh | none: accepts only a refresh token in the body', async () => {
    const { refresh_token } = await gateway.wallet().signIn()
    const inHeader = send('post', '/auth/refresh', { authorization: `Bearer ${refresh_token}` })
    expect(outcomeOf(await inHeader.send({}))).toEqual([400, 'INVALID_REQUEST'])
    expect(outcomeOf(await send('post', '/auth/refresh').send({ refresh_token }))).toEqual([200, undefined])
  })
})

describe('4. Endpoints, with a bearer JWT', () => {
  test.each(['/auth/logout', '/rpc', '/credits'])(
    'POST %s | bearer JWT: 401 without one, and with another word for it',
    async (path) => {
      const { token } = await gateway.wallet().signIn()
      for (const authorization of [
        undefined,
        '',
        token,
        `Basic ${token}`,
        `bearer: ${token}`,
        'Bearer',
        `Bearer ${token}x`,
        `Bearer ${token} x`,
      ]) {
        const answer = await send('post', path, authorization === undefined ? {} : { authorization })
        expect([authorization, ...outcomeOf(answer)]).toEqual([authorization, 401, 'INVALID_TOKEN'])
      }
      const answer = await send('post', path, { authorization: `Bearer ${token}` })
      expect(answer.status).not.toBe(401)
    },
  )

  test.each(['access_token', 'token'])('POST /rpc | bearer JWT: not in the query as %s', async (name) => {
    const { token } = await gateway.wallet().signIn()
    expect(outcomeOf(await send('post', `/rpc?${name}=${token}`))).toEqual([401, 'INVALID_TOKEN'])
  })
})

describe('4. Endpoints, and no others', () => {
  test.each([
    ['/health', 'get'],
    ['/auth/nonce', 'get'],
    ['/auth/login', 'post'],
    ['/auth/refresh', 'post'],
    ['/auth/logout', 'post'],
    ['/pricing', 'get'],
    ['/pricing/:id', 'get'],
    ['/providers', 'get'],
    ['/providers/:id', 'get'],
    ['/x402/supported', 'get'],
    ['/rpc', 'post'],
    ['/credits', 'post'],
    ['/credits/:wallet', 'get'],
    ['/history/:wallet', 'get'],
    ['/payments/:wallet', 'get'],
  ])('%s | is served by %s alone', async (path, served) => {
    for (const method of methods.filter((other) => other !== served)) {
      const answer = await send(method, at(path))
      expect([method, ...outcomeOf(answer)]).toEqual([method, 405, 'METHOD_NOT_ALLOWED'])
      expect(answer.headers.allow).toContain(served.toUpperCase())
    }
  })

  test.each(['/auth', '/api/v1/pricing', '/v1/pricing', '/history', '/x402', '/rpc/x'])(
    '%s | is no path: paths carry no version, and need all their parts',
    async (path) => {
      expect(outcomeOf(await send('get', path))).toEqual([404, 'NOT_FOUND'])
    },
  )
})
