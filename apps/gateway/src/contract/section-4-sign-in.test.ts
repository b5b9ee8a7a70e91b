import { type SessionTokens } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { decode } from 'jsonwebtoken'
import { NON_INTEGERS, NON_STRINGS, nonEnumValues, typesOf, findAcceptedValues } from '../testing/fields'
import { cosmosPlanOf, planOf } from '../testing/catalog'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { createCall, signInText } from '../testing/wallet'

const cosmosPlan = cosmosPlanOf({ id: 3 })

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(planOf({ id: 2, plan_name: 'Other', credits: 5 }), cosmosPlan)
  await gateway.reapply()
})
afterAll(closeAll)

const login = (body: object) => gateway.api.post('/auth/login').send(body)
const refresh = (body: object) => gateway.api.post('/auth/refresh').send(body)
const claimsOf = (token: string) => decode(token, { json: true }) ?? {}
const cosmosWallet = () => gateway.cosmosWallet({ plan: cosmosPlan })
const isMoment = (text: string) => new Date(text).toISOString() === text

describe('4. GET /health', () => {
  test('response | object with `status` (string, `ok`)', async () => {
    expect((await gateway.api.get('/health').expect(200)).body).toEqual({ status: 'ok' })
  })
})

describe('4. GET /auth/nonce', () => {
  const nonce = (query: object) => gateway.api.get('/auth/nonce').query(query)

  test('query | address | sent: the nonce is valid only for that address', async () => {
    const [owner, other] = [gateway.wallet(), gateway.wallet()]
    const { nonce: value } = (await nonce({ address: owner.address }).expect(200)).body as { nonce: string }
    expect(outcomeOf(await login(await other.login({}, { nonce: value })))).toEqual([401, 'EXPIRED_NONCE'])
    expect(outcomeOf(await login(await owner.login({}, { nonce: value })))).toEqual([200, undefined])
  })

  test('query | address | omitted: the nonce is valid for its first user', async () => {
    const { nonce: value } = (await nonce({}).expect(200)).body as { nonce: string }
    expect(outcomeOf(await login(await gateway.wallet().login({}, { nonce: value })))).toEqual([
      200,
      undefined,
    ])
    expect(outcomeOf(await login(await gateway.wallet().login({}, { nonce: value })))).toEqual([
      401,
      'EXPIRED_NONCE',
    ])
  })

  test('query | address | anything but a wallet address: 400', async () => {
    for (const address of [
      '',
      'unknown',
      '0x12',
      `0x${'g'.repeat(40)}`,
      `0x${'1'.repeat(41)}`,
      ` 0x${'1'.repeat(40)}`,
    ])
      expect([address, ...outcomeOf(await nonce({ address }))]).toEqual([address, 400, 'INVALID_REQUEST'])
  })

  test('response | `nonce` (string), another each time; `expires_in` (integer, 300); `domains` (strings)', async () => {
    const [one, other] = [(await nonce({}).expect(200)).body, (await nonce({}).expect(200)).body] as object[]
    expect(typesOf(one)).toEqual({ nonce: 'string', expires_in: 'integer', domains: ['string', 'string'] })
    expect(one).toMatchObject({ expires_in: 300, domains: ['Tollgate', 'gateway.example'] })
    expect(other).not.toEqual(one)
  })
})

describe('4. POST /auth/login, request body', () => {
  const rows: [string, string, 'yes' | 'no', readonly unknown[]][] = [
    ['message', 'string', 'yes', [...NON_STRINGS, 'Let me in', 'x'.repeat(5_000)]],
    ['auth_method', 'string', 'yes', nonEnumValues('siwe', 'siwc', 'SIWE', 'siws')],
    ['signature', 'string', 'yes', NON_STRINGS],
    ['address', 'string', 'yes', [...NON_STRINGS, 'unknown', '0x12']],
    ['pubkey', 'string', 'no', NON_STRINGS],
    ['x402_chain_id', 'string', 'yes', [...NON_STRINGS, '1', 84532, 'base-sepolia']],
    ['x402_ecosystem', 'string', 'yes', [...nonEnumValues('evm'), 'cosmos', 'solana']],
    ['pricing_plan_id', 'integer', 'yes', NON_INTEGERS],
    ['chain', 'string', 'no', [...NON_STRINGS, 'dogecoin']],
  ]
  test.each(rows)('%s | %s | required: %s', async (field, _, required, wrong) => {
    const body = await gateway.wallet().login()
    expect(await findAcceptedValues(login, body, field, { required: required === 'yes', wrong })).toEqual([])
    expect(outcomeOf(await login(body))).toEqual([200, undefined])
  })

  test('auth_method | string | `siwe` (Ethereum)', async () => {
    const { token } = await gateway.wallet().signIn({ auth_method: 'siwe' })
    expect(claimsOf(token)).toMatchObject({ auth_method: 'siwe' })
  })

  test.each([
    ['message', 'string', 'yes', [...NON_STRINGS, 'Let me in']],
    ['signature', 'string', 'yes', NON_STRINGS],
    ['address', 'string', 'yes', [...NON_STRINGS, 'unknown', 'cosmos1', `0x${'1'.repeat(40)}`]],
    ['pubkey', 'string', 'only for `siwc`', NON_STRINGS],
    ['x402_chain_id', 'string', 'yes', [...NON_STRINGS, 'osmosis-2', 'cosmos:osmosis-1', '84532']],
    ['x402_ecosystem', 'string', 'yes', [...nonEnumValues('cosmos'), 'evm']],
  ] as const)('%s | %s | required: %s, for a Cosmos wallet', async (field, _, _required, wrong) => {
    const body = await cosmosWallet().login()
    expect(await findAcceptedValues(login, body, field, { required: true, wrong })).toEqual([])
    expect(outcomeOf(await login(body))).toEqual([200, undefined])
  })

  test('auth_method | string | `siwc` (Cosmos)', async () => {
    const { token } = await cosmosWallet().signIn({ auth_method: 'siwc' })
    expect(claimsOf(token)).toMatchObject({ auth_method: 'siwc' })
  })

  test('address | string | the wallet address of the message: another is 401 INVALID_SIGNATURE', async () => {
    const body = await gateway.wallet().login({ address: gateway.wallet().address })
    expect(outcomeOf(await login(body))).toEqual([401, 'INVALID_SIGNATURE'])
  })

  test('signature | string | wallet signature over the message: over another one is 401 INVALID_SIGNATURE', async () => {
    const wallet = gateway.wallet()
    const body = await wallet.login()
    const signature = await wallet.signer.signMessage(`${body.message}.`)
    expect(outcomeOf(await login({ ...body, signature }))).toEqual([401, 'INVALID_SIGNATURE'])
  })

  test('pubkey | string | only for `siwc`: ignored for `siwe`', async () => {
    const body = await gateway.wallet().login({ pubkey: 'AqVY' })
    expect(outcomeOf(await login(body))).toEqual([200, undefined])
  })

  test('pubkey | string | for `siwc` the key of the address: another is 401 INVALID_SIGNATURE', async () => {
    const { pubkey } = await cosmosWallet().login()
    expect(outcomeOf(await login(await cosmosWallet().login({ pubkey })))).toEqual([401, 'INVALID_SIGNATURE'])
  })

  test('pricing_plan_id | integer | plan the session is bound to', async () => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 3, 1)
    const { token, call } = await wallet.signIn({ pricing_plan_id: 2 })
    expect(claimsOf(token)).toMatchObject({ pricing_plan_id: 2 })
    await call().expect(402)
    await (await wallet.signIn({ pricing_plan_id: 1 })).call().expect(200)
  })

  test('pricing_plan_id | integer | an unknown plan is 404', async () => {
    expect(outcomeOf(await login(await gateway.wallet().login({ pricing_plan_id: 999 })))).toEqual([
      404,
      'NOT_FOUND',
    ])
  })

  test.each(['base-sepolia', '84532', 'evm', 'ethereum'])(
    'chain | string | names the chain by the word %s instead of the fields above',
    async (chain) => {
      const { message, signature, address } = await gateway.wallet().login()
      const answer = await login({ message, signature, address, chain }).expect(200)
      expect(claimsOf((answer.body as SessionTokens).token)).toMatchObject({
        auth_method: 'siwe',
        chain_id: '84532',
        ecosystem: 'evm',
        pricing_plan_id: 1,
      })
    },
  )

  test.each(['osmosis-1', 'cosmos', 'Cosmos'])(
    'chain | string | names the chain by the word %s instead of the fields above',
    async (chain) => {
      const { message, signature, address, pubkey } = (await cosmosWallet().login()) as Record<
        string,
        unknown
      >
      const answer = await login({ message, signature, address, pubkey, chain }).expect(200)
      expect(claimsOf((answer.body as SessionTokens).token)).toMatchObject({
        auth_method: 'siwc',
        chain_id: 'osmosis-1',
        ecosystem: 'cosmos',
        pricing_plan_id: 3,
      })
    },
  )
})

describe('4. POST /auth/login, the sign-in message', () => {
  const outcomeWith = async (change: (lines: string[]) => string[]) => {
    const wallet = gateway.wallet()
    const issuedAt = gateway.clock.now().toISOString()
    const lines = signInText({ address: wallet.address, nonce: await wallet.nonce(), issuedAt }).split('\n')
    return outcomeOf(await login(await wallet.signed(change(lines).join('\n'))))
  }
  const refused = [400, 'INVALID_REQUEST']

  test('as specified', async () => {
    expect(await outcomeWith((lines) => lines)).toEqual([200, undefined])
  })

  test('as specified, signed as arbitrary data by a Cosmos wallet', async () => {
    const wallet = cosmosWallet()
    const nonce = await wallet.nonce()
    const issuedAt = gateway.clock.now().toISOString()
    const text = signInText({ address: wallet.address, nonce, issuedAt })
    expect(outcomeOf(await login(await wallet.signed(text)))).toEqual([200, undefined])
  })

  test.each([
    [0, '<service name> wants you to sign in.'],
    [1, 'a blank line'],
    [2, 'Address: <wallet_address>'],
    [3, 'Nonce: <nonce>'],
    [4, 'Issued At: <ISO 8601 timestamp>'],
  ])('line %d | %s | is required exactly once', async (at) => {
    expect(await outcomeWith((lines) => lines.toSpliced(at, 1))).toEqual(refused)
    expect(await outcomeWith((lines) => lines.toSpliced(at, 0, lines[at]!))).toEqual(refused)
    expect(await outcomeWith((lines) => lines.with(at, `${lines[at]!} `))).toEqual(refused)
    expect(await outcomeWith((lines) => lines.with(at, ` ${lines[at]!}`))).toEqual(refused)
  })

  test.each(['Evilgate', 'T\u043ellgate', 'tollgate', 'Tollgate.evil', 'x Tollgate'])(
    'line 0 | <service name> | %s is another',
    async (name) => {
      expect(await outcomeWith((lines) => lines.with(0, `${name} wants you to sign in.`))).toEqual(refused)
    },
  )

  test('line 2 | <wallet_address> | another than the signer’s is 401 INVALID_SIGNATURE', async () => {
    const other = gateway.wallet().address
    expect(await outcomeWith((lines) => lines.with(2, `Address: ${other}`))).toEqual([
      401,
      'INVALID_SIGNATURE',
    ])
  })

  test('line 3 | <nonce> | one that was not issued is 401 EXPIRED_NONCE', async () => {
    const nonce = 'Nonce: 0123456789abcdef0123456789abcdef'
    expect(await outcomeWith((lines) => lines.with(3, nonce))).toEqual([401, 'EXPIRED_NONCE'])
  })

  test.each(['now', '2026-02-30T00:00:00Z', '2026-01-01', '1767225600'])(
    'line 4 | <ISO 8601 timestamp> | %s is invalid',
    async (time) => {
      expect(await outcomeWith((lines) => lines.with(4, `Issued At: ${time}`))).toEqual(refused)
    },
  )
})

describe('4. POST /auth/login, response', () => {
  test('`token` (string, JWT), `refresh_token` (string), `expires_at` (ISO 8601 timestamp)', async () => {
    const body: unknown = (await login(await gateway.wallet().login()).expect(200)).body
    const tokens = body as SessionTokens
    expect(typesOf(tokens)).toEqual({ token: 'string', refresh_token: 'string', expires_at: 'string' })
    expect(isMoment(tokens.expires_at)).toBe(true)
    expect(new Date(tokens.expires_at).getTime() / 1000).toBe(claimsOf(tokens.token).exp)
  })

  test('2. Session token claims | wallet address, auth method, chain id, payment ecosystem, pricing plan id', async () => {
    const wallet = gateway.wallet()
    const { token } = await wallet.signIn({ pricing_plan_id: 2 })
    expect(claimsOf(token)).toMatchObject({
      wallet: wallet.address,
      auth_method: 'siwe',
      chain_id: '84532',
      ecosystem: 'evm',
      pricing_plan_id: 2,
    })
  })
})

describe('4. POST /auth/refresh', () => {
  test('body | refresh_token | string, required', async () => {
    const { refresh_token } = await gateway.wallet().signIn()
    expect(
      await findAcceptedValues(refresh, { refresh_token }, 'refresh_token', {
        required: true,
        wrong: NON_STRINGS,
      }),
    ).toEqual([])
    expect(outcomeOf(await refresh({ refresh_token: 'a'.repeat(43) }))).toEqual([401, 'INVALID_TOKEN'])
    expect(outcomeOf(await refresh({ refresh_token }))).toEqual([200, undefined])
  })

  test('response | `token` (string), `expires_at` (ISO 8601 timestamp) and a new refresh token', async () => {
    const session = await gateway.wallet().signIn()
    const answer = await refresh({ refresh_token: session.refresh_token }).expect(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    const next = answer.body as SessionTokens
    expect(typesOf(next)).toEqual({ token: 'string', refresh_token: 'string', expires_at: 'string' })
    expect(next.refresh_token).not.toBe(session.refresh_token)
    expect(new Date(next.expires_at).getTime() / 1000).toBe(claimsOf(next.token).exp)
    const { iat, exp, jti, ...same } = claimsOf(session.token)
    expect(claimsOf(next.token)).toMatchObject(same)
    expect(claimsOf(next.token).jti).not.toBe(jti)
    expect(Number(exp) - Number(iat)).toBe(3600)
  })
})

describe('4. POST /auth/logout', () => {
  test('header | Authorization: Bearer <ACCESS_TOKEN> | invalidates all active tokens of the session', async () => {
    const session = await gateway.wallet().signIn()
    const { token } = (await refresh({ refresh_token: session.refresh_token }).expect(200))
      .body as SessionTokens
    await gateway.api.post('/auth/logout').set('Authorization', `Bearer ${session.token}`).expect(200)
    for (const each of [session.token, token])
      expect(outcomeOf(await createCall(gateway.api, each)())).toEqual([403, 'REVOKED_TOKEN'])
  })
})
