import { encodeJson } from '@tollgate/protocol'
import { createMetrics } from '@tollgate/service'
import { createSIWxMessage, type CompleteSIWxInfo } from '@x402/extensions/sign-in-with-x'
import { auditLedger } from '../accounts/audit-report'
import { createFreeCredits, type FreeLimits } from '../accounts/free-credits'
import { createLedgerMetrics } from '../accounts/ledger-metrics'
import { balanceOf, randomAddress } from '../testing/accounts'
import { auditAndClose, testGateway, type TestGateway } from '../testing/gateway'
import { waitForLockWaiter } from '../testing/ledgers'
import { blockNumber, offerIn, post } from '../testing/plain'
import { answers, getRefusingUrl, startUpstream } from '../testing/upstream'
import { createCall } from '../testing/wallet'

const URL = '/v1/84532'
const PER_WALLET = 2
const PER_ADDRESS = 3
/** Enough for every test but those of the bound. */
const MANY = 1_000_000
const environment = {
  FREE_CREDITS_PER_WALLET: PER_WALLET,
  FREE_CREDITS_PER_ADDRESS: PER_ADDRESS,
  FREE_CREDITS_PER_DAY: MANY,
  TRUSTED_PROXIES: 1,
}

let gateway: TestGateway
let replica: TestGateway
let replicas: TestGateway[]
beforeAll(async () => {
  gateway = await testGateway({ environment })
  replica = await testGateway({ beside: gateway, environment })
  replicas = [gateway, replica]
})
afterAll(async () => {
  const { violations } = await auditLedger(gateway.database)
  expect(violations.filter((violation) => violation.includes('free_credits'))).toEqual([])
  await auditAndClose(gateway, replica)
})

let addresses = 0
/** Headers of a client at an address of its own, or at this one. */
const from = (address = `10.0.${addresses >> 8}.${addresses++ & 255}`) => ({ 'x-forwarded-for': address })
const call = (client: Record<string, string>, body: unknown = blockNumber, path = URL, { api } = gateway) =>
  post(api, path, body, client)
const messageOf = ({ body }: { body: unknown }) => (body as { message: string }).message
const statusesOf = (answers: { status: number }[]) => answers.map(({ status }) => status)
const times = <T>(count: number, of: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => of(i))

async function signIn({ client = from(), wallet = gateway.wallet(), api = gateway.api } = {}) {
  const answer = await api
    .post('/auth/login')
    .set(client)
    .send(await wallet.login())
  expect(answer.status).toBe(200)
  const { token } = answer.body as { token: string }
  return { wallet, address: wallet.address, token, call: createCall(api, token) }
}
const freeOf = (address: string) => balanceOf(gateway.ledger, address, 0)
const creditsOf = async (address: string) => (await gateway.api.get(`/credits/${address}`)).body as unknown

async function givenToday(): Promise<number> {
  const text = `SELECT coalesce(sum(given), 0)::int AS given FROM free_credit_days WHERE day = (now() AT TIME ZONE 'UTC')::date`
  return (await gateway.pool.query<{ given: number }>(text)).rows[0]?.given ?? 0
}

/** Gives credits as a replica with these limits does. */
const giver = (limits: Partial<FreeLimits>, { database, log } = gateway) =>
  createFreeCredits({
    database,
    limits: {
      FREE_CREDITS_PER_WALLET: 0,
      FREE_CREDITS_PER_ADDRESS: 0,
      FREE_CREDITS_PER_DAY: MANY,
      ...limits,
    },
    metrics: createLedgerMetrics(createMetrics()),
    logger: log.logger,
  })

type Giver = ReturnType<typeof giver>

describe('a new wallet', () => {
  test('calls free of charge after its sign-in, which credits, history and CSV show as plan 0', async () => {
    const { address, call } = await signIn()
    expect(await creditsOf(address)).toEqual([{ pricing_plan_id: 0, remaining_credits: 2 }])
    const first = await call()
    expect([first.status, first.headers['x-credits-charged'], first.headers['x-credits-remaining']]).toEqual([
      200,
      '1',
      '1',
    ])
    expect((await call()).status).toBe(200)
    const third = await call()
    expect([third.status, messageOf(third)]).toEqual([
      402,
      expect.stringMatching(/^The free credits are spent, and no credits are left on plan 1; pay 0.01 USDC/),
    ])
    const history = await gateway.api.get(`/history/${address}?plan_id=0`)
    expect(history.body).toMatchObject({
      data: [
        { pricing_plan_id: 0, credits: 1 },
        { pricing_plan_id: 0, credits: 1 },
      ],
    })
    const csv = await gateway.api.get(`/history/${address}`).set('accept', 'text/csv')
    expect(csv.text.split('\r\n')[1]).toMatch(/^\d+,0,/)
    expect((await gateway.api.get(`/payments/${address}`)).body).toMatchObject({ pagination: { total: 0 } })
  })

  test('spends what it bought first, and keeps the free credits for later', async () => {
    const { address, call } = await signIn()
    await gateway.fund(address, 1)
    expect((await call()).headers).toMatchObject({ 'x-credits-remaining': '0' })
    expect([await balanceOf(gateway.ledger, address), await freeOf(address)]).toEqual([0n, 2n])
    expect((await call()).status).toBe(200)
    expect(await freeOf(address)).toBe(1n)
  })

  test('gets nothing a second time', async () => {
    const { wallet, address, call } = await signIn()
    expect(statusesOf([await call(), await call(), await call()])).toEqual([200, 200, 402])
    expect((await (await signIn({ wallet })).call()).status).toBe(402)
    expect(await freeOf(address)).toBe(0n)
  })

  test('gets nothing if it has bought credits before', async () => {
    const wallet = gateway.wallet()
    await gateway.fund(wallet.address, 5)
    const { address } = await signIn({ wallet })
    expect(await creditsOf(address)).toEqual([{ pricing_plan_id: 1, remaining_credits: 5 }])
  })

  test('stays a newcomer for payments, and its webhooks tell nothing', async () => {
    const { address, token, call } = await signIn()
    const authorization = `Bearer ${token}`
    const endpoint = { url: 'https://app.example/hooks', balance_below: 2 }
    await gateway.api.post('/webhooks').set({ authorization }).send(endpoint).expect(201)
    expect((await call()).status).toBe(200)
    expect(await gateway.payments.getApplicant(address)).toMatchObject({ isCustomer: false })
    expect((await gateway.pool.query('SELECT FROM webhook_events')).rowCount).toBe(0)
  })

  test('gets a credit back for a call that is not served, and is asked to pay for one that costs more', async () => {
    const { address, call } = await signIn()
    const broken = await gateway.chain(await getRefusingUrl())
    expect((await call({ chain_id: broken })).status).toBe(500)
    expect(await freeOf(address)).toBe(2n)
    const dear = await call({ payload: times(3, () => blockNumber) })
    expect([dear.status, messageOf(dear)]).toEqual([
      402,
      expect.stringMatching(/^This call costs 3 credits, 0 are left on plan 1 and 2 free ones; pay/),
    ])
    expect(await freeOf(address)).toBe(2n)
  })

  test('gives no access key its free credits', async () => {
    const { address, token } = await signIn()
    const authorization = `Bearer ${token}`
    const created = await gateway.api.post('/keys').set({ authorization }).send({ label: 'app' }).expect(201)
    const { key: secret } = created.body as { key: string }
    expect((await call(from(), blockNumber, `${URL}/${secret}`)).status).toBe(402)
    expect(await freeOf(address)).toBe(2n)
  })

  test('calls free of charge by a proof of each request', async () => {
    const { signer, address } = gateway.wallet()
    const client = from()
    const prove = async () => {
      const { info } = offerIn(await gateway.api.get(URL)).extensions!['sign-in-with-x'] as {
        info: Omit<CompleteSIWxInfo, 'chainId' | 'type'>
      }
      const proof = { ...info, chainId: 'eip155:84532', type: 'eip191' as const }
      const signature = await signer.signMessage(createSIWxMessage(proof, address))
      return { ...client, 'sign-in-with-x': encodeJson({ ...proof, address, signature }) }
    }
    const first = await call(await prove())
    expect([first.status, first.headers['x-credits-remaining']]).toEqual([200, '1'])
    expect((await call(await prove())).status).toBe(200)
    expect(await freeOf(address)).toBe(0n)
    // The share of the address has one more.
    expect(statusesOf([await call(await prove()), await call(await prove())])).toEqual([200, 402])
  })
})

describe('an address', () => {
  test('calls plain URLs free of charge, then is asked to pay', async () => {
    const client = from()
    const answers = [await call(client), await call(client), await call(client), await call(client)]
    expect(answers.map(({ status, headers }) => [status, headers['x-credits-remaining']])).toEqual([
      [200, '2'],
      [200, '1'],
      [200, '0'],
      [402, undefined],
    ])
    expect(messageOf(answers[3]!)).toMatch(/up to 3 free credits a day.* ends at midnight UTC.*\. Calls to/)
    expect((await call(from())).status).toBe(200)
  })

  test('is a /64 of IPv6', async () => {
    const answers = []
    for (let host = 1; host <= 4; host++) answers.push(await call(from(`2001:db8:7:8::${host}`)))
    expect(statusesOf(answers)).toEqual([200, 200, 200, 402])
    expect((await call(from('2001:db8:7:9::1'))).status).toBe(200)
  })

  test.each([
    ['a GET', () => gateway.api.get(URL)],
    ['a HEAD', () => gateway.api.head(URL)],
    ['an empty body', () => gateway.api.post(URL)],
    ['no JSON', () => post(gateway.api, URL, '{"method":')],
    ['no call', () => post(gateway.api, URL, '{}')],
    [
      'a batch that costs more',
      () =>
        post(
          gateway.api,
          URL,
          times(PER_ADDRESS + 1, () => blockNumber),
        ),
    ],
  ])('asks for the price with %s, which takes nothing', async (_, send) => {
    const client = from()
    expect((await send().set(client)).status).toBe(402)
    const after = await call(
      client,
      times(PER_ADDRESS, () => blockNumber),
    )
    expect([after.status, after.headers['x-credits-charged']]).toEqual([200, '3'])
  })

  test('gets a credit back for a call that is not served', async () => {
    const client = from()
    const broken = await gateway.chain(await getRefusingUrl())
    const before = await givenToday()
    for (const attempt of [1, 2, 3, 4, 5])
      expect([attempt, (await call(client, blockNumber, `/v1/${broken}`)).body]).toMatchObject([
        attempt,
        { error: { code: -32_603 } },
      ])
    expect((await givenToday()) - before).toBe(1)
    expect(
      statusesOf([await call(client), await call(client), await call(client), await call(client)]),
    ).toEqual([200, 200, 200, 402])
  })

  test('calls with what came back, when all of its day was given', async () => {
    const client = from()
    const broken = await gateway.chain(await getRefusingUrl())
    const before = await givenToday()
    await call(
      client,
      times(PER_ADDRESS, () => blockNumber),
      `/v1/${broken}`,
    )
    expect((await givenToday()) - before).toBe(PER_ADDRESS)
    const answers = []
    for (let count = 0; count <= PER_ADDRESS; count++) answers.push(await call(client))
    expect(statusesOf(answers)).toEqual([200, 200, 200, 402])
  })

  test('shares its credits of a day with its new wallets', async () => {
    const client = from()
    const wallets = await Promise.all(times(20, () => signIn({ client })))
    const given = await Promise.all(wallets.map(({ address }) => freeOf(address)))
    expect(given.filter((credits) => credits > 0n).sort()).toEqual([1n, 2n])
    expect((await call(client)).status).toBe(402)
  })

  test('has another share the next day, and nothing of the day before', async () => {
    const client = from('192.0.2.77')
    const share = await giver({ FREE_CREDITS_PER_ADDRESS: 3 }).giveToAddress('192.0.2.77', 3)
    await gateway.pool.query('UPDATE free_credit_shares SET day = day - 1 WHERE id = $1', [share?.id])
    const authority = { kind: 'address', id: share?.id ?? '' } as const
    const kind = {
      providerId: 'p',
      ecosystem: 'evm',
      chainId: '1',
      transport: 'rpc',
      method: 'POST',
    } as const
    const charge = {
      ...kind,
      authority,
      wallet: share?.wallet ?? '',
      planId: 0,
      cost: 1,
      resource: '',
      rpcMethod: null,
    }
    expect(await gateway.ledger.spend(charge)).toEqual({ outcome: 'revoked' })
    expect((await call(client)).headers).toMatchObject({ 'x-credits-remaining': '2' })
  })
})

test('wallets and addresses share the budget of calls that no node knows', async () => {
  const unknown = JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32_601, message: '' } })
  const upstream = await startUpstream(answers.status(200, unknown, { 'content-type': 'application/json' }))
  const strict = await testGateway({
    beside: gateway,
    environment: { ...environment, FREE_UNKNOWN_METHODS_PER_MINUTE: 2 },
  })
  const chain_id = await gateway.chain(upstream.url)
  const { call: byWallet } = await signIn({ api: strict.api })
  const byAddress = () => call(from(), blockNumber, `/v1/${chain_id}`, strict)
  const sent = [
    await byWallet({ chain_id }),
    await byAddress(),
    await byAddress(),
    await byWallet({ chain_id }),
  ]
  expect(sent.map(({ headers }) => headers['x-credits-charged'])).toEqual(['0', '0', '1', '1'])
})

describe('however many requests race on two replicas', () => {
  test('an address gets its credits of a day, and no more', async () => {
    const client = from()
    const answers = await Promise.all(times(40, (i) => call(client, blockNumber, URL, replicas[i % 2])))
    expect(statusesOf(answers).filter((status) => status === 200)).toHaveLength(PER_ADDRESS)
    expect(statusesOf(answers).filter((status) => status === 402)).toHaveLength(40 - PER_ADDRESS)
  })

  test('a wallet gets its credits once, and uses up nothing of the day for the others', async () => {
    const wallet = gateway.wallet()
    const before = await givenToday()
    await Promise.all(times(20, (i) => signIn({ wallet, api: replicas[i % 2]!.api, client: from() })))
    expect([await freeOf(wallet.address), (await givenToday()) - before]).toEqual([2n, 2])
  })

  test.each([
    ['a wallet', async (to: Giver) => to.giveToWallet(randomAddress(), '203.0.113.201')],
    ['an address', async (to: Giver) => to.giveToAddress('203.0.113.202', 1)],
  ])('%s gets nothing of what another replica is about to give', async (_, give) => {
    await call(from())
    const before = await givenToday()
    const limits = {
      FREE_CREDITS_PER_WALLET: 2,
      FREE_CREDITS_PER_ADDRESS: 3,
      FREE_CREDITS_PER_DAY: before + 1,
    }
    const other = await replica.pool.connect()
    await other.query('BEGIN')
    await other.query('SELECT FROM free_credit_days FOR UPDATE')
    const giving = give(giver(limits))
    await waitForLockWaiter(gateway.pool)
    await other.query('UPDATE free_credit_days SET given = given + 1')
    await other.query('COMMIT')
    other.release()
    await giving
    expect(await givenToday()).toBe(before + 1)
    await gateway.pool.query('UPDATE free_credit_days SET given = given - 1')
  })

  test('all wallets and addresses together get the rest of the day', async () => {
    const limits = {
      FREE_CREDITS_PER_WALLET: 2,
      FREE_CREDITS_PER_ADDRESS: 3,
      FREE_CREDITS_PER_DAY: (await givenToday()) + 11,
    }
    const givers = replicas.map((one) => giver(limits, one))
    const wallets = times(20, randomAddress)
    const shares = await Promise.all([
      ...wallets.map(async (wallet, i) => {
        await givers[i % 2]?.giveToWallet(wallet, `203.0.113.${i}`)
        return Number(await freeOf(wallet))
      }),
      ...times(20, async (i) => ((await givers[i % 2]?.giveToAddress(`2001:db8:${i}::/64`, 1)) ? 1 : 0)),
    ])
    expect(shares.reduce((sum, credits) => sum + credits, 0)).toBe(11)
    expect(await givenToday()).toBe(limits.FREE_CREDITS_PER_DAY)
  })
})

test('the API reference says how many calls are free', async () => {
  const text =
    'a new wallet has 2 free credits once it has signed in, and a network address has 3 free credits a day'
  for (const path of ['/openapi.json', '/llms.txt'])
    expect((await gateway.api.get(path)).text).toContain(`The first calls are free: ${text}`)
})

test.each([
  ['nothing by default', {}, [0, 0]],
  ['wallets', { FREE_CREDITS_PER_WALLET: 2 }, [2, 0]],
  ['addresses', { FREE_CREDITS_PER_ADDRESS: 5 }, [0, 1]],
  [
    'a wallet no more than its address has',
    { FREE_CREDITS_PER_WALLET: 9, FREE_CREDITS_PER_ADDRESS: 5 },
    [5, 0],
  ],
  ['both', { FREE_CREDITS_PER_WALLET: 2, FREE_CREDITS_PER_ADDRESS: 5 }, [2, 1]],
  [
    'nothing on a day that is used up',
    { FREE_CREDITS_PER_WALLET: 2, FREE_CREDITS_PER_ADDRESS: 5, FREE_CREDITS_PER_DAY: 1 },
    [0, 0],
  ],
])('the operator gives free credits to %s', async (_, limits, [toWallet, toAddress]) => {
  const { giveToWallet, giveToAddress, mayServe } = giver(limits)
  const [wallet, address] = [randomAddress(), from()['x-forwarded-for']]
  await giveToWallet(wallet, address)
  const served = (await giveToAddress(address, 1)) ? 1 : 0
  expect([Number(await freeOf(wallet)), served]).toEqual([toWallet, toAddress])
  expect(mayServe(address)).toBe(served === 1)
})
