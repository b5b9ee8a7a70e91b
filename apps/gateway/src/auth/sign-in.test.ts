import { type SessionTokens } from '@tollgate/protocol'
import { closeAll } from '@tollgate/testing'
import { id, Signature } from 'ethers'
import { decode } from 'jsonwebtoken'
import { cosmosPlanOf, planOf } from '../testing/catalog'
import { eip4361Text } from '../testing/eip4361'
import { testGateway, type TestGateway } from '../testing/gateway'
import { outcomeOf } from '../testing/outcome'
import { signPayment, transferTypes, usdcDomain } from '../testing/payment'
import { signInText } from '../testing/wallet'

let gateway: TestGateway
beforeAll(async () => {
  gateway = await testGateway()
  gateway.catalog.plans.push(
    planOf({ id: 2, plan_name: 'Retired', active: false }),
    cosmosPlanOf({ id: 3, plan_name: 'Elsewhere' }),
    planOf({ id: 4, plan_name: 'Big' }),
  )
  await gateway.reapply()
})
afterAll(closeAll)

const login = async (body: object) => outcomeOf(await gateway.api.post('/auth/login').send(body))
const signedIn = [200, undefined]
const isoIn = (seconds: number) => new Date(gateway.clock.now().getTime() + seconds * 1000).toISOString()

describe('GET /auth/nonce', () => {
  test('returns a new nonce each time, valid for 300 seconds and not cacheable', async () => {
    const { address } = gateway.wallet()
    const first = await gateway.api.get('/auth/nonce').query({ address }).expect(200)
    const second = await gateway.api.get('/auth/nonce').expect(200)
    expect(first.body).toEqual({
      nonce: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
      expires_in: 300,
      domains: ['Tollgate', 'gateway.example'],
    })
    expect(second.body).not.toEqual(first.body)
    expect(first.headers['cache-control']).toBe('no-store')
  })
})

describe('POST /auth/login', () => {
  test('returns a one-hour token with the wallet, method, chain, ecosystem and plan', async () => {
    const wallet = gateway.wallet()
    const answer = await gateway.api.post('/auth/login').send(await wallet.login({ pricing_plan_id: 4 }))
    const { token, refresh_token, expires_at } = answer.body as SessionTokens
    const claims = decode(token) as Record<string, unknown>

    expect(answer.status).toBe(200)
    expect(answer.headers['cache-control']).toBe('no-store')
    expect(claims).toMatchObject({
      wallet: wallet.address,
      auth_method: 'siwe',
      chain_id: '84532',
      ecosystem: 'evm',
      pricing_plan_id: 4,
    })
    expect(Number(claims.exp) - Number(claims.iat)).toBe(3600)
    expect(new Date(expires_at).getTime()).toBe(Number(claims.exp) * 1000)
    expect(Buffer.from(refresh_token, 'base64url')).toHaveLength(32)
    expect(gateway.log.text()).not.toContain(token)
    const stored = await gateway.pool.query('SELECT * FROM refresh_tokens')
    expect(JSON.stringify(stored.rows)).not.toContain(refresh_token)
  })

  test('accepts EIP-4361, with and without a statement', async () => {
    for (const statement of [undefined, 'I accept the terms.']) {
      const wallet = gateway.wallet()
      const text = eip4361Text({
        address: wallet.address,
        nonce: await wallet.nonce(),
        issuedAt: isoIn(0),
        expirationTime: isoIn(60),
        notBefore: isoIn(-60),
        ...(statement === undefined ? {} : { statement }),
      })
      expect(await login(await wallet.signed(text))).toEqual(signedIn)
    }
  })

  test('accepts the text of a WalletConnect session, and a signature of 64 bytes or without a prefix', async () => {
    for (const form of ['serialized', 'compactSerialized'] as const) {
      const wallet = gateway.wallet()
      const resources = [`urn:recap:${'eyJhdHQiOnsi'.repeat(157)}`]
      const text = eip4361Text({
        ...{ address: wallet.address, nonce: await wallet.nonce(), issuedAt: isoIn(0), resources },
      })
      const body = await wallet.signed(text)
      const { signature } = body
      const written = Signature.from(signature)[form].slice(form === 'serialized' ? 2 : 0)
      expect(await login({ ...body, signature: written })).toEqual(signedIn)
    }
  })

  test('accepts an address in any letter case, as one wallet', async () => {
    const wallet = gateway.wallet()
    const address = wallet.address.toLowerCase()
    const answer = await gateway.api.post('/auth/login').send(await wallet.login({ address }, { address }))
    expect(decode((answer.body as SessionTokens).token)).toMatchObject({ wallet: wallet.address })
  })

  describe('by the name of a chain', () => {
    const named = {
      auth_method: undefined,
      x402_chain_id: undefined,
      x402_ecosystem: undefined,
      pricing_plan_id: undefined,
    }

    test.each(['base-sepolia', '84532', 'eip155:84532', 'ethereum', 'EVM'])(
      'signs in on the first plan of %s',
      async (chain) => {
        const wallet = gateway.wallet()
        const answer = await gateway.api.post('/auth/login').send(await wallet.login({ ...named, chain }))
        expect(decode((answer.body as SessionTokens).token)).toMatchObject({
          pricing_plan_id: 1,
          chain_id: '84532',
          auth_method: 'siwe',
        })
      },
    )

    test('uses the plan if it is also named', async () => {
      const body = await gateway.wallet().login({ ...named, chain: 'base-sepolia', pricing_plan_id: 4 })
      const answer = await gateway.api.post('/auth/login').send(body)
      expect(decode((answer.body as SessionTokens).token)).toMatchObject({ pricing_plan_id: 4 })
    })

    test.each(['dogecoin', '1', ''])('refuses %j, for which there is no active plan', async (chain) => {
      expect(await login(await gateway.wallet().login({ ...named, chain }))).toEqual([400, 'INVALID_REQUEST'])
    })
  })

  test('refuses a retired plan', async () => {
    expect(await login(await gateway.wallet().login({ pricing_plan_id: 2 }))).toEqual([404, 'NOT_FOUND'])
  })

  describe('refuses a nonce', () => {
    test('after its first use by one of fifty concurrent logins', async () => {
      const body = await gateway.wallet().login()
      const outcomes = await Promise.all(Array.from({ length: 50 }, () => login(body)))
      expect(outcomes.filter(([status]) => status === 200)).toHaveLength(1)
      expect(outcomes.filter(([, code]) => code === 'EXPIRED_NONCE')).toHaveLength(49)
    })

    test('but keeps it after a login with an invalid signature', async () => {
      const wallet = gateway.wallet()
      const body = await wallet.login()
      const forged = { ...body, signature: await gateway.wallet().signer.signMessage(body.message) }
      expect(await login(forged)).toEqual([401, 'INVALID_SIGNATURE'])
      expect(await login(body)).toEqual(signedIn)
    })
  })

  describe('refuses a message', () => {
    const text = async (parts: Partial<Parameters<typeof signInText>[0]> = {}) => {
      const wallet = gateway.wallet()
      const nonce = await wallet.nonce()
      return { wallet, text: signInText({ address: wallet.address, nonce, issuedAt: isoIn(0), ...parts }) }
    }

    test.each([
      ['for a domain that ours is a part of', { domain: 'gateway.example.evil' }, [400, 'INVALID_REQUEST']],
      ['issued in the future', { ahead: 61 }, [400, 'INVALID_REQUEST']],
      ["older than a nonce's validity", { ahead: -301 }, [401, 'EXPIRED_NONCE']],
    ])('%s', async (_, { ahead = 0, ...parts }: { ahead?: number; domain?: string }, refusal) => {
      const { wallet, text: message } = await text({ issuedAt: isoIn(ahead), ...parts })
      expect(await login(await wallet.signed(message))).toEqual(refusal)
    })

    test.each([-295, 55])('but not one whose clock is %d seconds off', async (ahead) => {
      const { wallet, text: message } = await text({ issuedAt: isoIn(ahead) })
      expect(await login(await wallet.signed(message))).toEqual(signedIn)
    })

    test.each([
      ['that has expired', { expirationTime: -1 }, [401, 'EXPIRED_NONCE']],
      ['that is not valid yet', { notBefore: 90 }, [400, 'INVALID_REQUEST']],
    ])(
      '%s',
      async (_, { expirationTime, notBefore }: { expirationTime?: number; notBefore?: number }, refusal) => {
        const wallet = gateway.wallet()
        const message = eip4361Text({
          address: wallet.address,
          nonce: await wallet.nonce(),
          issuedAt: isoIn(-10),
          ...(expirationTime === undefined ? {} : { expirationTime: isoIn(expirationTime) }),
          ...(notBefore === undefined ? {} : { notBefore: isoIn(notBefore) }),
        })
        expect(await login(await wallet.signed(message))).toEqual(refusal)
      },
    )
  })

  test('refuses a signature of the wallet over a payment, typed data or the bare hash', async () => {
    const wallet = gateway.wallet()
    const body = await wallet.login()
    const { signature: overPayment, authorization } = await signPayment(wallet.signer, {
      payTo: planOf().pay_to,
      amount: '10000',
    })
    const overTypedData = await wallet.signer.signTypedData(usdcDomain, transferTypes, authorization)
    const overHash = wallet.signer.signingKey.sign(id(body.message)).serialized
    for (const signature of [overPayment, overTypedData, overHash])
      expect(await login({ ...body, signature })).toEqual([401, 'INVALID_SIGNATURE'])
  })
})

test('without an active plan a login is refused with 404', async () => {
  const empty = await testGateway()
  empty.catalog.plans.length = 0
  await empty.reapply()
  const answer = await empty.api.post('/auth/login').send(await empty.wallet().login())
  expect(outcomeOf(answer)).toEqual([404, 'NOT_FOUND'])
})
