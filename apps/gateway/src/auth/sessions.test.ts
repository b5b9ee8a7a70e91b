import { type SessionTokens } from '@tollgate/protocol'
import { latestArrival } from '@tollgate/service'
import { closeAll } from '@tollgate/testing'
import { createHash, createHmac } from 'node:crypto'
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { sign } from 'jsonwebtoken'
import { createClock } from '../testing/clock'
import { testGateway, type TestGateway } from '../testing/gateway'
import { makeUsesOlder } from '../testing/refresh-tokens'
import { outcomeOf } from '../testing/outcome'
import { startTcpProxy } from '../testing/tcp-proxy'
import { createCall } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => (gateway = await testGateway()))
afterAll(closeAll)

const SECRET = 'a secret of this test run and no other'
const kidOf = (secret: string) => createHash('sha256').update(secret).digest('hex').slice(0, 8)

async function signedIn(on = gateway) {
  const wallet = on.wallet()
  await on.fund(wallet.address, 100)
  return wallet.signIn()
}
const use = async (token: string, on = gateway) => outcomeOf(await createCall(on.api, token)())
const refresh = (refresh_token: unknown, on = gateway) => on.api.post('/auth/refresh').send({ refresh_token })
const logout = async (token: string, on = gateway) =>
  outcomeOf(await on.api.post('/auth/logout').set('Authorization', `Bearer ${token}`))

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const hs256 = (text: string, secret: string) => createHmac('sha256', secret).update(text).digest('base64url')

describe('a bearer token', () => {
  const forgeries: [string, (parts: { header: string; claims: string; session: SessionTokens }) => string][] =
    [
      ['an invalid token', () => 'not.a.token'],
      ['a refresh token', ({ session }) => session.refresh_token],
      ['one without a signature', ({ header, claims }) => `${header}.${claims}.`],
      [
        'one that says it needs no signature (alg none)',
        ({ claims }) => `${part({ alg: 'none', kid: kidOf(SECRET) })}.${claims}.`,
      ],
      [
        'one signed with another algorithm',
        ({ claims }) => {
          const body = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object
          return sign(body, SECRET, { algorithm: 'HS512', keyid: kidOf(SECRET) })
        },
      ],
      [
        'one signed with another secret under our key’s name',
        ({ header, claims }) => `${header}.${claims}.${hs256(`${header}.${claims}`, 'x'.repeat(40))}`,
      ],
      [
        'one with edited claims',
        ({ header, claims, session }) => {
          const edited = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object
          return [header, part({ ...edited, pricing_plan_id: 2 }), session.token.split('.')[2]].join('.')
        },
      ],
      ...[undefined, '', 'unknown', '../../dev/null', '__proto__', "' OR 1=1", 5, null].map(
        (kid): [string, (parts: { claims: string }) => string] => [
          `one whose key is called ${JSON.stringify(kid)}`,
          ({ claims }) => {
            const header = part({ alg: 'HS256', typ: 'JWT', kid })
            return `${header}.${claims}.${hs256(`${header}.${claims}`, SECRET)}`
          },
        ],
      ),
      [
        'one of another issuer',
        ({ claims }) => {
          const body = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object
          return sign({ ...body, iss: 'another' }, SECRET, { keyid: kidOf(SECRET) })
        },
      ],
      [
        'one of ours that names no session',
        () =>
          sign({ wallet: '0x1', iss: 'tollgate-gateway' }, SECRET, { keyid: kidOf(SECRET), expiresIn: 60 }),
      ],
    ]
  test.each(forgeries)('is not %s', async (_, forge) => {
    const session = await signedIn()
    const [header = '', claims = ''] = session.token.split('.')
    const forged = forge({ header, claims, session })
    expect(await use(forged)).toEqual([401, 'INVALID_TOKEN'])
    expect(await logout(forged)).toEqual([401, 'INVALID_TOKEN'])
    expect(await use(session.token)).toEqual([200, undefined])
  })

  test('is refused once it has expired, or if a character of it differs, after it was accepted', async () => {
    const { token } = await signedIn()
    expect(await use(token)).toEqual([200, undefined])
    expect(await use(`${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`)).toEqual([
      401,
      'INVALID_TOKEN',
    ])
    gateway.clock.advance(3_570)
    expect(await use(token)).toEqual([200, undefined])
    gateway.clock.advance(30)
    expect(await use(token)).toEqual([401, 'EXPIRED_TOKEN'])
  })

  test('stays valid after a secret rotation while the old secret is configured', async () => {
    const { token } = await signedIn()
    const JWT_SECRET = 'the secret that came after that one'
    const changed = await testGateway({
      beside: gateway,
      environment: { JWT_SECRET, JWT_SECRET_PREVIOUS: SECRET },
    })
    const forgotten = await testGateway({ beside: gateway, environment: { JWT_SECRET } })
    expect(await use(token, changed)).toEqual([200, undefined])
    expect(await use(token, forgotten)).toEqual([401, 'INVALID_TOKEN'])
    const { token: newer } = await signedIn(changed)
    expect(await use(newer, forgotten)).toEqual([200, undefined])
    expect(await use(newer)).toEqual([401, 'INVALID_TOKEN'])
  })
})

describe('POST /auth/refresh', () => {
  const refreshed = async (token: string, on = gateway) =>
    (await refresh(token, on).expect(200)).body as SessionTokens
  const unusedTokens = async (on = gateway) => {
    const { rows } = await on.pool.query<{ hash: Buffer }>(
      `SELECT hash FROM refresh_tokens WHERE used_at IS NULL AND session_id =
        (SELECT session_id FROM refresh_tokens ORDER BY created_at DESC LIMIT 1)`,
    )
    return rows
  }
  const ended = [403, 'REVOKED_TOKEN']
  const used = [401, 'INVALID_TOKEN']

  test('again within ten seconds is refused on every replica, and ends nothing', async () => {
    const replica = await testGateway({ beside: gateway })
    const session = await signedIn()
    const next = await refreshed(session.refresh_token)
    expect(next.refresh_token).not.toBe(session.refresh_token)
    for (const seconds of [0, 5]) {
      await makeUsesOlder(gateway, seconds)
      for (const on of [gateway, replica])
        expect(outcomeOf(await refresh(session.refresh_token, on))).toEqual(used)
    }
    for (const { token } of [session, next]) expect(await use(token, replica)).toEqual([200, undefined])
    expect(await unusedTokens()).toHaveLength(1)
    const newest = await refreshed(next.refresh_token, replica)
    expect(outcomeOf(await refresh(session.refresh_token))).toEqual(used)
    expect(await use(newest.token)).toEqual([200, undefined])
  })

  test('again after ten seconds ends the session and all its tokens', async () => {
    const session = await signedIn()
    const next = await refreshed(session.refresh_token)
    await makeUsesOlder(gateway, 20)
    expect(outcomeOf(await refresh(session.refresh_token))).toEqual(used)
    for (const { token } of [session, next]) expect(await use(token)).toEqual(ended)
    for (const { refresh_token } of [session, next])
      expect(outcomeOf(await refresh(refresh_token))).toEqual(ended)
  })

  test('by a hundred callers on two replicas has one winner', async () => {
    const replica = await testGateway({ beside: gateway })
    const session = await signedIn()
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        refresh(session.refresh_token, index % 2 ? replica : gateway),
      ),
    )
    const winners = answers.filter(({ status }) => status === 200)
    expect(winners).toHaveLength(1)
    expect(answers.filter((answer) => answer !== winners[0]).map(outcomeOf)).toEqual(
      Array.from({ length: 99 }, () => used),
    )
    expect(await unusedTokens()).toHaveLength(1)
    const pair = winners[0]!.body as SessionTokens
    expect(await use(pair.token)).toEqual([200, undefined])
    expect((await refresh(pair.refresh_token, replica)).status).toBe(200)
  })

  test('sent to two replicas at once has one winner', async () => {
    const on = await testGateway()
    const replica = await testGateway({ beside: on })
    const session = await signedIn(on)
    // While the token is locked, both are in flight.
    const lock = await on.pool.connect()
    await lock.query('BEGIN')
    await lock.query('SELECT FROM refresh_tokens FOR UPDATE')
    const both = Promise.all([on, replica].map((at) => refresh(session.refresh_token, at)))
    const waiting = `SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`
    while ((await on.pool.query(waiting)).rowCount !== 2);
    await lock.query('COMMIT')
    lock.release()

    expect((await both).map(outcomeOf).sort()).toEqual([[200, undefined], used])
    expect(await unusedTokens(on)).toHaveLength(1)
  })

  test('again after a logout returns nothing', async () => {
    const session = await signedIn()
    const next = await refreshed(session.refresh_token)
    await logout(next.token)
    for (const { refresh_token } of [session, next])
      expect(outcomeOf(await refresh(refresh_token))).toEqual(ended)
  })

  test('stores no token', async () => {
    const session = await signedIn()
    const { refresh_token } = await refreshed(session.refresh_token)
    const stored = await gateway.pool.query('SELECT * FROM refresh_tokens')
    expect(JSON.stringify(stored.rows)).not.toContain(refresh_token)
  })

  describe('on a replica that stalls or whose clock is wrong', () => {
    async function replicas(aheadSeconds: number) {
      const on = await testGateway()
      const postgres = await startTcpProxy(on.infrastructure.databaseUrl)
      const clock = createClock()
      clock.advance(aheadSeconds)
      const infrastructure = { ...on.infrastructure, databaseUrl: postgres.url, clock }
      return { on, postgres, replica: await testGateway({ beside: { infrastructure } }) }
    }

    test.each([0, 600, -600])('ends nothing within ten seconds: %i s ahead', async (aheadSeconds) => {
      const { on, replica } = await replicas(aheadSeconds)
      const session = await signedIn(on)
      const pair = await refreshed(session.refresh_token, on)
      expect(outcomeOf(await refresh(session.refresh_token, replica))).toEqual(used)
      expect(await use(pair.token, on)).toEqual([200, undefined])
    })

    test('does not count the time that a request waited in the replica', async () => {
      const { on, replica, postgres } = await replicas(0)
      const session = await signedIn(on)
      await replica.pool.query('SELECT 1')
      postgres.pause()
      const held = refresh(session.refresh_token, replica).then(outcomeOf)
      while (replica.pool.idleCount > 0) await new Promise(setImmediate)
      const askedAt = performance.now()
      const pair = await refreshed(session.refresh_token, on)
      // The use is as old as the wait and ten seconds less a part of it.
      while (performance.now() - askedAt < 400) await new Promise(setImmediate)
      await makeUsesOlder(on, 9.8)
      postgres.resume()
      expect(await held).toEqual(used)
      expect(await use(pair.token, on)).toEqual([200, undefined])
    })

    test('counts the time that a client takes to send its token', async () => {
      const session = await signedIn()
      const arrived = latestArrival()
      const slow = httpRequest(`${gateway.url}/auth/refresh`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
      })
      slow.write('{')
      while (latestArrival() === arrived) await new Promise(setImmediate)
      const arrivedAt = performance.now()
      const pair = await refreshed(session.refresh_token)
      while (performance.now() - arrivedAt < 400) await new Promise(setImmediate)
      await makeUsesOlder(gateway, 9.8)
      slow.end(`"refresh_token":"${session.refresh_token}"}`)
      const [{ statusCode }] = (await once(slow, 'response')) as [IncomingMessage]
      expect(statusCode).toBe(401)
      expect(await use(pair.token)).toEqual(ended)
    })

    test.each([0, 600, -600])('ends the session twenty seconds later: %i s ahead', async (aheadSeconds) => {
      const { on, replica } = await replicas(aheadSeconds)
      const session = await signedIn(on)
      const pair = await refreshed(session.refresh_token, on)
      await makeUsesOlder(on, 20)
      expect(outcomeOf(await refresh(session.refresh_token, replica))).toEqual(used)
      expect(await use(pair.token, on)).toEqual(ended)
    })
  })

  test('refuses an oversized token', async () => {
    expect(outcomeOf(await refresh('a'.repeat(5_000)))).toEqual([400, 'INVALID_REQUEST'])
  })

  test('refuses a bearer token as a refresh token', async () => {
    const { token } = await signedIn()
    expect((await refresh(token)).status).toBeGreaterThanOrEqual(400)
    expect(await use(token)).toEqual([200, undefined])
  })
})

describe('POST /auth/logout', () => {
  test('ends the session with all its tokens, at once and on every replica, and no other session', async () => {
    const replica = await testGateway({ beside: gateway })
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 100)
    const [session, other] = [await wallet.signIn(), await wallet.signIn()]
    const next = (await refresh(session.refresh_token).expect(200)).body as SessionTokens

    expect(await use(next.token, replica)).toEqual([200, undefined])
    expect(await logout(session.token)).toEqual([200, undefined])
    for (const on of [gateway, replica])
      for (const token of [session.token, next.token]) {
        expect(await use(token, on)).toEqual([403, 'REVOKED_TOKEN'])
        expect(await logout(token, on)).toEqual([403, 'REVOKED_TOKEN'])
      }
    expect(outcomeOf(await refresh(next.refresh_token, replica))).toEqual([403, 'REVOKED_TOKEN'])
    expect(await use(other.token, replica)).toEqual([200, undefined])
  })

  test('also ends the session of a wallet without credits, with or without a payment', async () => {
    const wallet = gateway.wallet()
    const session = await wallet.signIn()
    await logout(session.token)
    expect(outcomeOf(await session.call())).toEqual([403, 'REVOKED_TOKEN'])
    expect(outcomeOf(await session.call({ payment: await wallet.pay() }))).toEqual([403, 'REVOKED_TOKEN'])
    expect(gateway.facilitator.calls).toEqual([])
  })
})
