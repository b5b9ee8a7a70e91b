import { openFacilitatorDatabase } from '@tollgate/database'
import { newThirdParty, type ClientKey } from './testing/client-keys'
import { publicPayers, signedFor, type Paid } from './testing/public-payers'
import { openMerchant, PRICE, type Merchant, type Version } from './testing/merchants'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'

let world: ObservedWorld
let database: ReturnType<typeof openFacilitatorDatabase>
let thirdParty: Awaited<ReturnType<typeof newThirdParty>>
const merchants: Merchant[] = []

beforeAll(async () => {
  world = await startObservedWorld()
  database = openFacilitatorDatabase({ url: world.infrastructure.postgres.facilitator, poolSize: 1 })
  thirdParty = await newThirdParty(world.facilitator)
}, 120_000)

afterAll(async () => {
  await Promise.all(merchants.map((merchant) => merchant.close()))
  await database.close()
  await world.stop()
}, 30_000)

// The libraries write every refusal to the console.
beforeEach(() => {
  for (const level of ['error', 'warn'] as const) jest.spyOn(console, level).mockImplementation()
})
afterEach(() => jest.restoreAllMocks())

async function newMerchant(version: Version, key: ClientKey): Promise<Merchant> {
  const merchant = await openMerchant(version, world.facilitator, key)
  merchants.push(merchant)
  return merchant
}

const paymentsOf = async (payer: string, merchant: Merchant) =>
  (await world.token.authorizationsTo(merchant.payTo)).filter((payment) => payment.payer === payer)

async function expectPaidOnce(merchant: Merchant, payer: string, { receipt }: Paid) {
  expect(receipt).toMatchObject({ success: true, payer })
  expect(await world.token.transfersOf(receipt.transaction ?? '', payer)).toEqual([
    { from: payer, to: merchant.payTo, value: PRICE },
  ])
  expect(await paymentsOf(payer, merchant)).toEqual([
    expect.objectContaining({ transaction: receipt.transaction, value: PRICE }),
  ])
  expect(await world.token.balanceOf(payer)).toBe(BUDGET - PRICE)
}

async function expectClosed(merchant: Merchant, payer: string, { status, body, headers }: Paid) {
  expect(status).toBeGreaterThanOrEqual(400)
  expect(body).not.toContain(merchant.content)
  expect(headers).not.toContain(merchant.content)
  expect([await world.token.balanceOf(payer), await world.token.balanceOf(merchant.payTo)]).toEqual([
    BUDGET,
    0n,
  ])
  expect(await world.token.authorizationsTo(merchant.payTo)).toEqual([])
  const { rowCount } = await database.pool.query('SELECT FROM settlements WHERE payer = $1', [payer])
  expect(rowCount).toBe(0)
}

const servers = { 1: 'x402-express', 2: '@x402/express' } as const

describe.each(publicPayers)('a third party’s route, paid for by $name', ({ version, pay }) => {
  const scopes: Record<Version, string[]> = {
    1: ['verify', 'settle', 'supported', 'verify,supported', 'settle,supported'],
    // Its server needs `/supported` before it can send a 402.
    2: ['supported', 'verify,supported', 'settle,supported', 'verify,settle'],
  }

  test(`behind ${servers[version]} is refused without a payment`, async () => {
    const merchant = await newMerchant(version, await thirdParty.newKey())
    const answer = await fetch(merchant.url)
    expect(answer.status).toBe(402)
    expect(await answer.text()).not.toContain(merchant.content)
    expect(merchant.made()).toBe(0)
  })

  test(`behind ${servers[version]} is served, and the wallet pays exactly once`, async () => {
    const merchant = await newMerchant(version, await thirdParty.newKey())
    const payers = [await world.newPayer(), await world.newPayer(), await world.newPayer()]
    const paid = await Promise.all(payers.map(({ privateKey }) => pay(merchant.url, privateKey)))
    for (const [i, { address }] of payers.entries()) {
      expect([paid[i]!.status, paid[i]!.body]).toEqual([200, merchant.content])
      await expectPaidOnce(merchant, address, paid[i]!)
    }
    expect(await world.token.balanceOf(merchant.payTo)).toBe(3n * PRICE)
  })

  test('is served with a key of exactly the required scope', async () => {
    const merchant = await newMerchant(
      version,
      await thirdParty.newKey({ scope: version === 1 ? 'verify,settle' : 'verify,settle,supported' }),
    )
    const { address, privateKey } = await world.newPayer()
    const paid = await pay(merchant.url, privateKey)
    expect([paid.status, paid.body]).toEqual([200, merchant.content])
    await expectPaidOnce(merchant, address, paid)
  })

  test('is refused at once after the key was revoked, and no money moves', async () => {
    const key = await thirdParty.newKey()
    const merchant = await newMerchant(version, key)
    expect((await fetch(merchant.url)).status).toBe(402)
    await thirdParty.revoke(key)

    const { address, privateKey } = await world.newPayer()
    await expectClosed(merchant, address, await pay(merchant.url, privateKey))
    expect(merchant.made()).toBe(0)
  })

  test.each(scopes[version])('is refused with a key of scope %s, and no money moves', async (scope) => {
    const merchant = await newMerchant(version, await thirdParty.newKey({ scope }))
    const { address, privateKey } = await world.newPayer()
    await expectClosed(merchant, address, await pay(merchant.url, privateKey))
    // If verify passes, the route runs, and its response is discarded if settle is refused.
    expect(merchant.made()).toBe(scope.includes('verify') && scope !== 'verify,settle' ? 1 : 0)
  })

  test('is refused with an unknown key, and no money moves', async () => {
    const { token: otherToken } = await thirdParty.newKey()
    const { clientId } = await thirdParty.newKey()
    const merchant = await newMerchant(version, { clientId, token: otherToken })
    const { address, privateKey } = await world.newPayer()
    await expectClosed(merchant, address, await pay(merchant.url, privateKey))
    expect(merchant.made()).toBe(0)
  })
})

test("third parties' routes are refused after their key expires, and no money moves", async () => {
  const key = await thirdParty.newKey({ ttl_hours: 0.001 })
  const byVersion = { 1: await newMerchant(1, key), 2: await newMerchant(2, key) }
  // Their servers read `/supported` while the key is valid.
  await Promise.all(Object.values(byVersion).map(({ url }) => fetch(url)))
  await thirdParty.expired(key)

  for (const { version, pay } of publicPayers) {
    const { address, privateKey } = await world.newPayer()
    await expectClosed(byVersion[version], address, await pay(byVersion[version].url, privateKey))
    expect(byVersion[version].made()).toBe(0)
  }
})

describe.each([1, 2] as const)('one payment that is sent twenty times at once to %s', (version) => {
  test(`${servers[version]} serves one payment once`, async () => {
    const merchant = await newMerchant(version, await thirdParty.newKey())
    const { address, privateKey } = await world.newPayer()
    const send = await signedFor(version, merchant.url, privateKey)

    const answers = await Promise.all(Array.from({ length: 20 }, send))

    const [served, ...others] = answers.filter(({ status }) => status === 200)
    expect([served?.body, others]).toEqual([merchant.content, []])
    await expectPaidOnce(merchant, address, served!)
    const refused = [...answers.filter(({ status }) => status !== 200), await send()]
    expect(refused.map(({ status }) => status)).toEqual(Array(20).fill(402))
    for (const { body, headers } of refused) {
      expect(body).not.toContain(merchant.content)
      expect(headers).not.toContain(merchant.content)
    }
    expect(await paymentsOf(address, merchant)).toHaveLength(1)
  })
})
