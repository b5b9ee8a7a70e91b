import { type SessionTokens } from '@tollgate/protocol'
import { decode } from 'jsonwebtoken'
import { balanceOf } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { makeUsesOlder } from '../testing/refresh-tokens'
import { answers, startUpstream } from '../testing/upstream'
import { createCall } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway({ inProcess: true })
  gateway.clock.stop()
})
afterAll(() => auditAndClose(gateway))

const login = (body: object) => gateway.api.post('/auth/login').send(body)
const refresh = (refresh_token: string) => gateway.api.post('/auth/refresh').send({ refresh_token })
const logout = (token: string) => gateway.api.post('/auth/logout').set('Authorization', `Bearer ${token}`)
const call = (token: string) => createCall(gateway.api, token)()

async function funded(credits: number) {
  const wallet = gateway.wallet()
  if (credits > 0) await gateway.fund(wallet.address, credits)
  return { wallet, session: await wallet.signIn(), balance: () => balanceOf(gateway.ledger, wallet.address) }
}

describe('3. Nonce', () => {
  test('(none) -> issued | GET /auth/nonce, always | valid for 300 seconds', async () => {
    const wallet = gateway.wallet()
    for (const address of [undefined, wallet.address]) {
      const answer = await gateway.api.get('/auth/nonce').query({ address }).expect(200)
      const { nonce, expires_in } = answer.body as { nonce: string; expires_in: number }
      expect(expires_in).toBe(300)
      gateway.clock.advance(299)
      await login(await wallet.login({}, { nonce })).expect(200)
    }
  })

  test('issued -> consumed | POST /auth/login, message carries the nonce | session token issued', async () => {
    const body = await gateway.wallet().login()
    const answer = await login(body).expect(200)
    expect(typeof (answer.body as SessionTokens).token).toBe('string')
    expect(outcomeOf(await login(body))).toEqual([401, 'EXPIRED_NONCE'])
  })

  test('issued -> consumed | by one of several logins at once', async () => {
    const body = await gateway.wallet().login()
    const outcomes = (await Promise.all(Array.from({ length: 20 }, () => login(body)))).map(outcomeOf)
    expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1)
    expect(outcomes.filter(([, code]) => code === 'EXPIRED_NONCE')).toHaveLength(19)
  })

  test('issued -> expired | more than 300 s | a login using it fails with 401 EXPIRED_NONCE', async () => {
    const wallet = gateway.wallet()
    const nonce = await wallet.nonce()
    gateway.clock.advance(301)
    expect(outcomeOf(await login(await wallet.login({}, { nonce })))).toEqual([401, 'EXPIRED_NONCE'])
  })
})

describe('3. Session token and refresh token', () => {
  test('(none) -> token active | POST /auth/login, valid signature | JWT valid 1 hour', async () => {
    const { session } = await funded(1)
    const { iat = 0, exp = 0 } = decode(session.token, { json: true }) ?? {}
    expect(exp - iat).toBe(3600)
    expect(iat * 1000).toBe(gateway.clock.now().getTime())
    gateway.clock.advance(3599)
    await call(session.token).expect(200)
  })

  test('(none) -> (none) | POST /auth/login, no valid signature | no token', async () => {
    const [wallet, other] = [gateway.wallet(), gateway.wallet()]
    const body = await wallet.login()
    const answer = await login({ ...body, signature: await other.signer.signMessage(body.message) })
    expect(outcomeOf(answer)).toEqual([401, 'INVALID_SIGNATURE'])
    expect(answer.body).not.toHaveProperty('token')
  })

  test('token active -> token expired | more than 1 hour | 401 EXPIRED_TOKEN on use', async () => {
    const { session } = await funded(1)
    gateway.clock.advance(3601)
    expect(outcomeOf(await call(session.token))).toEqual([401, 'EXPIRED_TOKEN'])
    expect(outcomeOf(await logout(session.token))).toEqual([401, 'EXPIRED_TOKEN'])
  })

  test('refresh token active -> used | POST /auth/refresh | new token, new refresh token, the old one invalid', async () => {
    const { session } = await funded(2)
    const next = (await refresh(session.refresh_token).expect(200)).body as SessionTokens
    expect(next.token).not.toBe(session.token)
    expect(next.refresh_token).not.toBe(session.refresh_token)
    await call(next.token).expect(200)
    expect(outcomeOf(await refresh(session.refresh_token))).toEqual([401, 'INVALID_TOKEN'])
    const newest = (await refresh(next.refresh_token).expect(200)).body as SessionTokens
    await call(newest.token).expect(200)
    await makeUsesOlder(gateway, 20)
    expect(outcomeOf(await refresh(session.refresh_token))).toEqual([401, 'INVALID_TOKEN'])
    expect(outcomeOf(await call(newest.token))).toEqual([403, 'REVOKED_TOKEN'])
  })

  test('token active -> token revoked | POST /auth/logout | all tokens of the session at once; later use 403 REVOKED_TOKEN', async () => {
    const { wallet, session } = await funded(10)
    const other = await wallet.signIn()
    const next = (await refresh(session.refresh_token).expect(200)).body as SessionTokens
    await logout(next.token).expect(200)
    for (const token of [session.token, next.token]) {
      expect(outcomeOf(await call(token))).toEqual([403, 'REVOKED_TOKEN'])
      expect(outcomeOf(await logout(token))).toEqual([403, 'REVOKED_TOKEN'])
    }
    expect(outcomeOf(await refresh(next.refresh_token))).toEqual([403, 'REVOKED_TOKEN'])
    await call(other.token).expect(200)
  })
})

describe('3. Credits', () => {
  test('balance zero -> unchanged | POST /rpc without payment proof | 402 with payment requirements', async () => {
    const { session, balance } = await funded(0)
    const asked = gateway.upstream.requests.length
    const answer = await session.call().expect(402)
    expect(answer.body).toHaveProperty('paymentRequirements')
    expect([gateway.upstream.requests.length, await balance()]).toEqual([asked, 0n])
  })

  test('balance zero -> credits issued | POST /rpc with valid X-PAYMENT | the call proceeds in the same request', async () => {
    const { wallet, session, balance } = await funded(0)
    const before = {
      asked: gateway.upstream.requests.length,
      settled: gateway.facilitator.settlements.length,
    }
    const answer = await session.call({ payment: await wallet.pay() }).expect(200)
    expect(answer.body).toMatchObject({ result: '0x1' })
    expect(gateway.facilitator.settlements).toHaveLength(before.settled + 1)
    expect(gateway.upstream.requests).toHaveLength(before.asked + 1)
    expect(await balance()).toBe(99n)
  })

  test('balance above zero -> reduced | POST /rpc | deduction happens before forwarding', async () => {
    const { session, balance } = await funded(10)
    const seen: bigint[] = []
    const upstream = await startUpstream(async (res, ...rest) => {
      seen.push(await balance())
      answers.result()(res, ...rest)
    })
    await session.call({ chain_id: await gateway.chain(upstream.url) }).expect(200)
    expect([seen, await balance()]).toEqual([[9n], 9n])
  })

  test('balance above zero -> reduced | POST /rpc, many at once | deduction happens atomically', async () => {
    const { session, balance } = await funded(3)
    const asked = gateway.upstream.requests.length
    const outcomes = await Promise.all(Array.from({ length: 40 }, () => session.call()))
    expect(outcomes.filter(({ status }) => status === 200)).toHaveLength(3)
    expect(outcomes.filter(({ status }) => status === 402)).toHaveLength(37)
    expect([gateway.upstream.requests.length - asked, await balance()]).toEqual([3, 0n])
  })
})
