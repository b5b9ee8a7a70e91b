import { USDC_ADDRESS } from '@tollgate/devnet'
import {
  createTollgate,
  memoryStorage,
  type Limits,
  type Tollgate,
  type TollgateError,
  type TollgateEvents,
  type TollgateOptions,
  type WalletStorage,
} from '@tollgate/wallet'
import { Wallet, type HDNodeWallet } from 'ethers'
import { newThirdParty } from './testing/client-keys'
import { expectPaidOnce } from './testing/expect-payment'
import { startHostileMerchant, type HostileMerchant } from './testing/hostile-merchant'
import { killGateway } from './testing/kill-gateway'
import { startLyingGateway, type LyingGateway } from './testing/lying-gateway'
import { openMerchant, PRICE, type Merchant, type Version } from './testing/merchants'
import { until } from './testing/paying'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { createAccessKey } from './testing/plain-calls'
import { signIn } from './testing/world'

const CHAIN = 'eip155:84532'
const CHAIN_ID = '0x14a34'
const asset = { network: CHAIN, asset: USDC_ADDRESS }
const cent: Limits = { assets: [{ ...asset, perPayment: PRICE }] }

let world: ObservedWorld
const clients: Tollgate[] = []
const merchants: Merchant[] = []

beforeAll(async () => {
  world = await startObservedWorld()
}, 120_000)
afterEach(() => clients.splice(0).forEach((client) => client.close()))
afterAll(async () => {
  await Promise.all(merchants.map((merchant) => merchant.close()))
  await world.stop()
}, 30_000)

type Options = Partial<TollgateOptions> & Pick<TollgateOptions, 'wallet'>

function open(options: Options): Tollgate {
  const tollgate = createTollgate({
    url: world.gateway.url,
    limits: cent,
    storage: memoryStorage(),
    ...options,
  })
  clients.push(tollgate)
  return tollgate
}

function record(tollgate: Tollgate) {
  const names: string[] = []
  const events: { [Name in keyof TollgateEvents]?: TollgateEvents[Name] } = {}
  for (const name of ['signed-in', 'payment-required', 'paid', 'pending', 'limit-reached'] as const)
    tollgate.on(name, (event) => {
      names.push(name)
      Object.assign(events, { [name]: event })
    })
  return { names, events }
}

/** At the gateway, of the one account of a storage. */
async function endSession(storage: WalletStorage): Promise<void> {
  const [session = ''] = await storage.list('sessions/')
  const { token } = JSON.parse((await storage.get(session)) ?? '') as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  await fetch(`${world.gateway.url}/auth/logout`, { method: 'POST', headers })
}

const spentBy = async ({ address }: Wallet | HDNodeWallet) => BUDGET - (await world.token.balanceOf(address))
const chainId = (tollgate: Tollgate) => tollgate.request(CHAIN, 'eth_chainId')

describe('request', () => {
  test('signs in, pays and calls; the next calls spend credits', async () => {
    const wallet = await world.newPayer()
    const tollgate = open({ wallet })
    const { names, events } = record(tollgate)
    expect(await chainId(tollgate)).toBe(CHAIN_ID)
    expect(await chainId(tollgate)).toBe(CHAIN_ID)
    expect(names).toEqual(['signed-in', 'payment-required', 'paid'])
    const { transaction } = events.paid ?? {}
    expect(events.paid).toMatchObject({ ...asset, amount: PRICE, payTo: world.plan.pay_to })
    await expectPaidOnce(world, wallet.address, { transaction, calls: 2 })
  })

  test('pays once for a hundred calls at once', async () => {
    const wallet = await world.newPayer()
    const tollgate = open({ wallet })
    const { names } = record(tollgate)
    const answers = await Promise.all(Array.from({ length: 100 }, () => chainId(tollgate)))
    expect(new Set(answers)).toEqual(new Set([CHAIN_ID]))
    expect(names).toEqual(['signed-in', 'payment-required', 'paid'])
    await expectPaidOnce(world, wallet.address, { calls: 100 })
  })

  test('passes on the node’s error, and what a batch answers', async () => {
    const tollgate = open({ wallet: await world.newPayer() })
    await expect(
      tollgate.request(CHAIN, 'eth_call', [{ to: USDC_ADDRESS, data: '0x12345678' }, 'latest']),
    ).rejects.toMatchObject({
      code: 'RPC_ERROR',
      details: { code: 3 },
    })
    const body = [1, 2].map((id) => ({ jsonrpc: '2.0', id, method: 'eth_chainId', params: [] }))
    expect(await tollgate.send(CHAIN, body)).toEqual(
      [1, 2].map((id) => ({ jsonrpc: '2.0', id, result: CHAIN_ID })),
    )
  })

  test('refuses a batch that costs more than a payment buys, after one payment', async () => {
    const wallet = await world.newPayer()
    const tollgate = open({ wallet })
    const body = Array.from({ length: 101 }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_chainId',
      params: [],
    }))
    await expect(tollgate.send(CHAIN, body)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(await spentBy(wallet)).toBe(PRICE)
    await tollgate.buy()
    expect(await tollgate.send(CHAIN, body)).toHaveLength(101)
  })
})

describe('limits', () => {
  test('hold for a hundred calls at once: three payments a day, and no fourth', async () => {
    const wallet = await world.newPayer()
    const limits = { assets: [{ ...asset, perPayment: PRICE, perDay: 3n * PRICE }] }
    const tollgate = open({ wallet, limits })
    const served: number[] = []
    for (let round = 0; round < 5; round += 1) {
      const calls = Array.from({ length: 100 }, () =>
        chainId(tollgate).then(
          () => 'served',
          () => 'refused',
        ),
      )
      served.push((await Promise.all(calls)).filter((outcome) => outcome === 'served').length)
    }
    expect(served).toEqual([100, 100, 100, 0, 0])
    expect(await spentBy(wallet)).toBe(3n * PRICE)
    await expect(chainId(tollgate)).rejects.toMatchObject({
      code: 'LIMIT_REACHED',
      details: { limit: 'perDay' },
    })
  })

  test('of a day are shared by all clients of a storage, those of a session are not', async () => {
    const wallet = await world.newPayer()
    const storage = memoryStorage()
    const limits = { assets: [{ ...asset, perPayment: PRICE, perDay: 2n * PRICE, perSession: PRICE }] }
    const [one, two] = [open({ wallet, limits, storage }), open({ wallet, limits, storage })]
    await one.buy()
    await expect(one.buy()).rejects.toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 'perSession' } })
    await two.buy()
    const three = open({ wallet, limits, storage })
    await expect(three.buy()).rejects.toMatchObject({ code: 'LIMIT_REACHED', details: { limit: 'perDay' } })
    expect(await spentBy(wallet)).toBe(2n * PRICE)
  })

  test.each<[string, Limits | undefined, string, string | undefined]>([
    ['there are none', undefined, 'LIMIT_NOT_SET', undefined],
    ['they list no asset', { assets: [] }, 'LIMIT_NOT_SET', 'assets'],
    ['they allow less', { assets: [{ ...asset, perPayment: PRICE - 1n }] }, 'LIMIT_REACHED', 'perPayment'],
    ['the recipient is another', { ...cent, recipients: [USDC_ADDRESS] }, 'LIMIT_REACHED', 'recipients'],
    [
      'the callback refuses',
      { ...cent, approve: () => Promise.resolve(false) },
      'PAYMENT_NOT_APPROVED',
      undefined,
    ],
  ])('refuse before anything is signed when %s', async (_name, limits, code, limit) => {
    const wallet = await world.newPayer()
    const signed = jest.spyOn(wallet, 'signTypedData')
    const tollgate = createTollgate({
      url: world.gateway.url,
      wallet,
      storage: memoryStorage(),
      ...(limits ? { limits } : {}),
    })
    clients.push(tollgate)
    await expect(chainId(tollgate)).rejects.toMatchObject({ code, ...(limit ? { details: { limit } } : {}) })
    expect(signed).not.toHaveBeenCalled()
    expect(await spentBy(wallet)).toBe(0n)
  })

  test('ask the callback with what will be paid', async () => {
    const approve = jest.fn(() => true)
    await open({ wallet: await world.newPayer(), limits: { ...cent, approve } }).buy()
    const price = { value: '0.01', decimals: 6, symbol: 'USDC' }
    expect(approve.mock.calls).toEqual([
      [{ url: `${world.gateway.url}/credits`, ...asset, payTo: world.plan.pay_to, amount: PRICE, price }],
    ])
  })
})

describe('a payment without an answer', () => {
  test('is sent again, and never signed again, while the gateway is killed and restarted', async () => {
    const wallet = await world.newPayer()
    const signed = jest.spyOn(wallet, 'signTypedData')
    const tollgate = open({ wallet })
    let killed: Promise<void> | undefined
    tollgate.on('payment-required', () => void (killed = killGateway(world)))
    expect(await chainId(tollgate)).toBe(CHAIN_ID)
    await killed
    expect(signed).toHaveBeenCalledTimes(1)
    await expectPaidOnce(world, wallet.address)
  })

  test('that was refused is sent again, not signed again, until it expires', async () => {
    const poor = Wallet.createRandom()
    const signed = jest.spyOn(poor, 'signTypedData')
    const tollgate = open({ wallet: poor })
    for (let attempt = 0; attempt < 3; attempt += 1)
      await expect(tollgate.buy()).rejects.toMatchObject({
        code: 'PAYMENT_REFUSED',
        details: { reason: 'insufficient_funds' },
      })
    expect(signed).toHaveBeenCalledTimes(1)
  })
})

describe('a gateway that lies', () => {
  let lying: LyingGateway
  afterEach(async () => {
    jest.restoreAllMocks()
    await lying.close()
  })

  test('takes no more than the limit of a day by denying what it took', async () => {
    lying = await startLyingGateway(world.gateway.url, 'denied')
    const limits = { assets: [{ ...asset, perPayment: PRICE, perDay: 2n * PRICE }] }
    const tollgate = open({
      url: lying.url,
      serviceName: world.serviceName,
      wallet: await world.newPayer(),
      limits,
    })
    const now = Date.now.bind(Date)
    const refusals: unknown[] = []
    for (let minutes = 0; minutes < 60; minutes += 10) {
      jest.spyOn(Date, 'now').mockImplementation(() => now() + minutes * 60_000)
      refusals.push(await tollgate.buy().catch((error: unknown) => (error as TollgateError).code))
    }
    expect(refusals).toEqual([
      'PAYMENT_REFUSED',
      'PAYMENT_REFUSED',
      ...Array<string>(4).fill('LIMIT_REACHED'),
    ])
    expect(new Set(lying.payments).size).toBe(2)
  })

  test('is paid no more than the price that it lists, whatever the limits allow', async () => {
    lying = await startLyingGateway(world.gateway.url, 'dear')
    const limits = { assets: [{ ...asset, perPayment: 100n * PRICE }] }
    const wallet = await world.newPayer()
    const tollgate = open({ url: lying.url, serviceName: world.serviceName, wallet, limits })
    const refused = { code: 'LIMIT_REACHED', details: { limit: 'listedPrice', amount: 10n * PRICE } }
    await expect(chainId(tollgate)).rejects.toMatchObject(refused)
    await expect(tollgate.buy()).rejects.toMatchObject(refused)
    expect(lying.payments).toEqual([])
  })

  test('sells no more than twice to a call that it does not serve', async () => {
    lying = await startLyingGateway(world.gateway.url, 'unserved')
    const tollgate = open({ url: lying.url, serviceName: world.serviceName, wallet: await world.newPayer() })
    await expect(chainId(tollgate)).rejects.toMatchObject({ code: 'GATEWAY_ERROR' })
    expect(new Set(lying.payments).size).toBe(2)
  })
})

describe('the account', () => {
  test('has credits, calls, payments and keys', async () => {
    const wallet = await world.newPayer()
    const tollgate = open({ wallet, plan: world.plan.id })
    const purchase = await tollgate.buy()
    expect(purchase).toMatchObject({ planId: world.plan.id, amount: PRICE, credits: 100 })
    expect(await tollgate.credits()).toMatchObject([{ remaining_credits: 100 }])
    const { key, id } = await tollgate.keys.create({ label: 'explorer', chains: ['base-sepolia'] })
    const answer = await tollgate.fetch(`${world.gateway.url}/v1/base-sepolia/${key}`, {
      method: 'POST',
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}',
      headers: { 'content-type': 'application/json' },
    })
    expect(await answer.json()).toMatchObject({ result: CHAIN_ID })
    expect(await tollgate.history()).toMatchObject({ total: 1, data: [{ key_label: 'explorer' }] })
    expect(await tollgate.payments()).toMatchObject({
      total: 1,
      data: [{ transaction: purchase.transaction }],
    })
    await tollgate.keys.delete(id)
    expect(await tollgate.keys.list()).toEqual([])
  })

  test('signs in again after a sign-out, and after its session was ended elsewhere', async () => {
    const wallet = await world.newPayer()
    const tollgate = open({ wallet })
    const { names } = record(tollgate)
    await tollgate.buy()
    await tollgate.signOut()
    await chainId(tollgate)
    const storage = memoryStorage()
    const other = open({ wallet, storage })
    const { names: otherNames } = record(other)
    await chainId(other)
    await endSession(storage)
    expect(await chainId(other)).toBe(CHAIN_ID)
    expect(names.filter((name) => name === 'signed-in')).toHaveLength(2)
    expect(otherNames).toEqual(['signed-in', 'signed-in'])
  })

  test.each([
    ['takes the newer token of a program that refreshed meanwhile', true, ['signed-in']],
    ['signs in again after the answer of a refresh was lost', false, ['signed-in', 'signed-in']],
  ])('%s', async (_, isStored, expected) => {
    const storage = memoryStorage()
    const wallet = await world.newPayer()
    const first = open({ wallet, storage })
    const { names } = record(first)
    await chainId(first)
    const [session = ''] = await storage.list('sessions/')
    const stored = JSON.parse((await storage.get(session)) ?? '') as { refreshToken: string }
    const old = JSON.stringify({ ...stored, expiresAt: new Date().toISOString() })
    let isRefreshed = false
    const refreshedMeanwhile: WalletStorage = {
      ...storage,
      async get(key) {
        if (key !== session || isRefreshed) return storage.get(key)
        isRefreshed = true
        const answer = await fetch(`${world.gateway.url}/auth/refresh`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ refresh_token: stored.refreshToken }),
        })
        const next = (await answer.json()) as { token: string; refresh_token: string; expires_at: string }
        const newer = { token: next.token, refreshToken: next.refresh_token, expiresAt: next.expires_at }
        if (isStored) await storage.set(key, JSON.stringify(newer))
        return old
      },
    }
    const second = open({ wallet, storage: refreshedMeanwhile })
    second.on('signed-in', () => names.push('signed-in'))
    expect(await chainId(second)).toBe(CHAIN_ID)
    expect(names.filter((name) => name === 'signed-in')).toEqual(expected)
  })
})

describe('fetch', () => {
  const report = async (tollgate: Tollgate, merchant: Merchant) => (await tollgate.fetch(merchant.url)).text()

  async function newMerchant(version: Version) {
    const key = await (await newThirdParty(world.facilitator)).newKey()
    const merchant = await openMerchant(version, world.facilitator, key)
    merchants.push(merchant)
    return merchant
  }

  test.each([1, 2] as const)(
    'pays any resource of x402 version %i, once for each request',
    async (version) => {
      const merchant = await newMerchant(version)
      const wallet = await world.newPayer()
      const tollgate = open({ wallet })
      const paid: string[] = []
      tollgate.on('paid', ({ transaction }) => paid.push(transaction))
      const texts = await Promise.all([report(tollgate, merchant), report(tollgate, merchant)])
      expect(texts).toEqual([merchant.content, merchant.content])
      expect(await spentBy(wallet)).toBe(2n * PRICE)
      // Both may be settled by one transaction.
      const transfers = [...new Set(paid)].map((hash) => world.token.transfersOf(hash, wallet.address))
      expect((await Promise.all(transfers)).flat()).toHaveLength(2)
    },
  )

  test('holds the limits for a hundred requests at once', async () => {
    const merchant = await newMerchant(2)
    const wallet = await world.newPayer()
    const tollgate = open({
      wallet,
      limits: { assets: [{ ...asset, perPayment: PRICE, perDay: 3n * PRICE }] },
    })
    const requests = Array.from({ length: 100 }, () =>
      report(tollgate, merchant).then(
        () => 'paid',
        (error: unknown) => (error as { code: string }).code,
      ),
    )
    const outcomes = await Promise.all(requests)
    expect(outcomes.filter((outcome) => outcome === 'paid')).toHaveLength(3)
    expect(outcomes.filter((outcome) => outcome === 'LIMIT_REACHED')).toHaveLength(97)
    expect(await spentBy(wallet)).toBe(3n * PRICE)
  })

  test('calls this gateway in the session, and passes on what pays by itself', async () => {
    const wallet = await world.newPayer()
    const tollgate = open({ wallet })
    const url = `${world.gateway.url}/v1/base-sepolia`
    const post = { method: 'POST', body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' }
    const headers = { 'content-type': 'application/json' }
    expect(await (await tollgate.fetch(url, { ...post, headers })).json()).toMatchObject({ result: CHAIN_ID })
    await expectPaidOnce(world, wallet.address)
    const other = await world.newPayer()
    const key = await createAccessKey(world, await signIn(world, other))
    expect((await tollgate.fetch(key.urlOf('base-sepolia'), { ...post, headers })).status).toBe(402)
  })

  test('has no session for the routes of the account, however they are written', async () => {
    const tollgate = open({ wallet: await world.newPayer() })
    const { names } = record(tollgate)
    await tollgate.keys.create({ label: 'mine' })
    const paths = [
      ...['/keys', '/KEYS', '//keys', '/v1/../keys', '/v1/%2e%2e/keys', '/v1\\..\\keys', '/v1/.\t./keys?a'],
      ...['/v1/x/..%2f..%2fkeys', '/v1/x/%252e%252e/%252e%252e/keys', '/v1/x/..%5C..%5Ckeys', '/webhooks'],
      ...['/credits', '/auth/logout'],
    ]
    for (const path of paths)
      for (const method of ['GET', 'POST', 'DELETE']) {
        const { ok } = await tollgate.fetch(`${world.gateway.url}${path}`, { method })
        expect([path, method, ok]).toEqual([path, method, false])
      }
    await expect(tollgate.request('..', 'eth_chainId')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(await tollgate.keys.list()).toMatchObject([{ label: 'mine' }])
    expect(names).toEqual(['signed-in'])
  })

  test('has a session for them by `accountFetch` alone, and signs in again after it has ended', async () => {
    const wallet = await world.newPayer()
    const storage = memoryStorage()
    const tollgate = open({ wallet, storage })
    const { names } = record(tollgate)
    await tollgate.keys.create({ label: 'mine' })
    expect(await (await tollgate.accountFetch('/keys')).json()).toMatchObject({ data: [{ label: 'mine' }] })
    await endSession(storage)
    const answer = await tollgate.accountFetch('/webhooks?limit=1')
    expect([answer.status, await answer.json()]).toEqual([200, { data: [] }])
    for (const path of ['/credits', '/keys/../credits', '/auth/logout', '@evil.example/keys'])
      await expect(tollgate.accountFetch(path)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' })
    expect(names).toEqual(['signed-in', 'signed-in'])
    expect(await spentBy(wallet)).toBe(0n)
  })

  test('leaves alone a 402 that is none of x402, and answers that ask for nothing', async () => {
    const tollgate = open({ wallet: await world.newPayer() })
    const answer = await tollgate.fetch(`${world.gateway.url}/pricing`)
    expect(await answer.json()).toMatchObject([{ id: world.plan.id }, {}])
  })

  describe('from a hostile resource', () => {
    let hostile: HostileMerchant
    beforeAll(async () => (hostile = await startHostileMerchant()))
    afterAll(() => hostile.close())

    test('does not carry a payment to where a redirect leads, and sends the same one again', async () => {
      const tollgate = open({ wallet: await world.newPayer() })
      const statuses = [
        await tollgate.fetch(`${hostile.url}/moved`),
        await tollgate.fetch(`${hostile.url}/moved`),
      ]
      expect(statuses.map(({ status }) => status)).toEqual([307, 307])
      expect(hostile.paymentsOf('/elsewhere')).toEqual([])
      expect(new Set(hostile.paymentsOf('/moved')).size).toBe(1)
    })

    test('signs once where each payment is refused, and counts it for the day', async () => {
      const limits = { assets: [{ ...asset, perPayment: PRICE, perDay: PRICE }] }
      const tollgate = open({ wallet: await world.newPayer(), limits })
      await expect(tollgate.fetch(`${hostile.url}/greedy`)).rejects.toMatchObject({ code: 'PAYMENT_REFUSED' })
      await expect(tollgate.fetch(`${hostile.url}/greedy`)).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
      expect(hostile.paymentsOf('/greedy')).toHaveLength(1)
    })

    test('reports a payment as unknown that may have been taken before a crash, and signs no other for it', async () => {
      const wallet = await world.newPayer()
      const storage = memoryStorage()
      const first = open({ wallet, storage })
      const answer = first.fetch(`${hostile.url}/taken`)
      await until(
        () => Promise.resolve(hostile.paymentsOf('/taken').length),
        (sent) => sent === 1,
      )
      first.close()
      await expect(answer).rejects.toMatchObject({ code: 'CLOSED' })
      const limits = { assets: [{ ...asset, perPayment: PRICE - 1n }] }
      const bounded = open({ wallet, storage, limits })
      await expect(bounded.fetch(`${hostile.url}/taken`)).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
      expect(hostile.paymentsOf('/taken')).toHaveLength(1)

      const second = open({ wallet, storage })
      await expect(second.fetch(`${hostile.url}/taken`)).rejects.toMatchObject({ code: 'PAYMENT_UNKNOWN' })
      expect(new Set(hostile.paymentsOf('/taken')).size).toBe(1)
    })

    test('pays nothing at another origin that a redirect leads to', async () => {
      const other = await startHostileMerchant()
      const tollgate = open({ wallet: await world.newPayer() })
      const to = encodeURIComponent(`${other.url}/greedy`)
      const answer = await tollgate.fetch(`${hostile.url}/away?to=${to}`)
      expect([answer.status, other.paymentsOf('/greedy')]).toEqual([402, []])
      await other.close()
    })

    test('signs nothing for more than the limit', async () => {
      const tollgate = open({ wallet: await world.newPayer() })
      await expect(tollgate.fetch(`${hostile.url}/expensive`)).rejects.toMatchObject({
        code: 'LIMIT_REACHED',
      })
      expect(hostile.paymentsOf('/expensive')).toEqual([])
    })

    test('sends the same payment again while its answer is lost', async () => {
      const tollgate = open({ wallet: await world.newPayer(), timeoutMs: 1_000 })
      const pending = new Promise((resolve) => tollgate.on('pending', resolve))
      const answer = tollgate.fetch(`${hostile.url}/held`)
      await pending
      hostile.release()
      expect((await answer).status).toBe(200)
      const sent = hostile.paymentsOf('/held')
      expect([sent.length > 1, new Set(sent).size]).toEqual([true, 1])
    })
  })
})
