import { USDC_ADDRESS } from '@tollgate/devnet'
import {
  createTollgate,
  memoryStorage,
  type Limits,
  type Tollgate,
  type WalletStorage,
} from '@tollgate/wallet'
import { expectPaidOnce } from './testing/expect-payment'
import { PRICE } from './testing/merchants'
import { until } from './testing/paying'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'

const CHAIN = 'eip155:84532'
const cent = { assets: [{ network: CHAIN, asset: USDC_ADDRESS, perPayment: PRICE }] }

let world: ObservedWorld
const clients: Tollgate[] = []

beforeAll(async () => {
  world = await startObservedWorld()
}, 120_000)
afterEach(() => {
  jest.restoreAllMocks()
  clients.splice(0).forEach((client) => client.close())
})
afterAll(() => world.stop(), 30_000)

type Given = { limits?: Limits; storage?: WalletStorage }

async function newWallet() {
  const wallet = await world.newPayer()
  const signed = jest.spyOn(wallet, 'signTypedData')
  function open({ limits = cent, storage = memoryStorage() }: Given = {}) {
    const tollgate = createTollgate({ url: world.gateway.url, wallet, limits, storage })
    clients.push(tollgate)
    return tollgate
  }
  return { wallet, signed, open, spent: async () => BUDGET - (await world.token.balanceOf(wallet.address)) }
}

/** A callback that tells when it is asked, and never answers. */
function deafUser() {
  let tell: () => void = () => undefined
  const asked = new Promise<void>((resolve) => (tell = resolve))
  const approve = () => {
    tell()
    return new Promise<boolean>(() => undefined)
  }
  return { limits: { ...cent, approve }, asked }
}

/** A storage that tells when a payment was stored, and when its outcome is, before anyone else knows. */
function tellingStorage({
  onStored,
  onEnded,
}: {
  onStored?: () => void
  onEnded?: () => void
}): WalletStorage {
  const storage = memoryStorage()
  return {
    ...storage,
    async create(key, value) {
      const created = await storage.create(key, value)
      if (key.startsWith('payments/')) onStored?.()
      return created
    },
    async set(key, value) {
      if (key.startsWith('payments/')) onEnded?.()
      await storage.set(key, value)
    },
  }
}

function countRequests() {
  const counts = { open: 0, unpaid: 0 }
  const send = globalThis.fetch
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (...request) => {
    counts.open += 1
    const answer = await send(...request).finally(() => (counts.open -= 1))
    if (answer.status === 402) counts.unpaid += 1
    return answer
  })
  return counts
}

type Call = (tollgate: Tollgate, signal: AbortSignal) => Promise<unknown>

const calls: [string, Call][] = [
  ['request', (tollgate, signal) => tollgate.request(CHAIN, 'eth_chainId', [], { signal })],
  ['buy', (tollgate, signal) => tollgate.buy({ signal })],
  [
    'fetch',
    ({ fetch, url }, signal) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_chainId', params: [] })
      const headers = { 'content-type': 'application/json' }
      return fetch(`${url}/v1/${CHAIN}`, { method: 'POST', headers, body, signal })
    },
  ],
]

describe.each(calls)('%s', (_name, call) => {
  test.each(['ABORTED', 'CLOSED'] as const)(
    'whose user never answers ends: %s, and frees the next one',
    async (code) => {
      const { signed, open, spent } = await newWallet()
      const { limits, asked } = deafUser()
      const storage = memoryStorage()
      const tollgate = open({ limits, storage })
      const aborting = new AbortController()
      const calling = call(tollgate, aborting.signal)
      await asked
      if (code === 'CLOSED') tollgate.close()
      else aborting.abort()
      await expect(calling).rejects.toMatchObject({ code })
      expect([signed.mock.calls.length, await spent()]).toEqual([0, 0n])

      await open({ storage }).buy()
      expect([signed.mock.calls.length, await spent()]).toEqual([1, PRICE])
    },
  )

  test('asks no one if its signal was aborted before', async () => {
    const { signed, open } = await newWallet()
    const approve = jest.fn(() => true)
    const tollgate = open({ limits: { ...cent, approve } })
    await expect(call(tollgate, AbortSignal.abort())).rejects.toMatchObject({ code: 'ABORTED' })
    expect([approve.mock.calls.length, signed.mock.calls.length]).toEqual([0, 0])
  })

  test.each(['ABORTED', 'CLOSED'] as const)('leaves a stored payment to the next one: %s', async (code) => {
    const { wallet, signed, open } = await newWallet()
    const aborting = new AbortController()
    const stop = () => (code === 'CLOSED' ? tollgate.close() : aborting.abort())
    const storage = tellingStorage({ onStored: stop })
    const tollgate = open({ storage })
    await expect(call(tollgate, aborting.signal)).rejects.toMatchObject({ code })
    expect(await open({ storage }).request(CHAIN, 'eth_chainId')).toBe('0x14a34')
    expect(signed).toHaveBeenCalledTimes(1)
    await expectPaidOnce(world, wallet.address)
  })
})

test('a call that stops leaves the question to the calls that wait for its answer', async () => {
  const { wallet, signed, open } = await newWallet()
  let answer: (isAllowed: boolean) => void = () => undefined
  let tell: () => void = () => undefined
  const asked = new Promise<void>((resolve) => (tell = resolve))
  const approve = () => {
    tell()
    return new Promise<boolean>((resolve) => (answer = resolve))
  }
  const tollgate = open({ limits: { ...cent, approve } })
  const aborting = new AbortController()
  const stopped = tollgate.request(CHAIN, 'eth_chainId', [], { signal: aborting.signal })
  await asked
  const requests = countRequests()
  const others = Array.from({ length: 10 }, () => tollgate.request(CHAIN, 'eth_chainId'))
  // Then each of them waits for the payment: nothing was sent for a second.
  let calm = 0
  await until(
    () => Promise.resolve(requests),
    ({ open: underWay, unpaid }) => (calm = underWay === 0 && unpaid === 10 ? calm + 1 : 0) === 5,
  )
  aborting.abort()
  await expect(stopped).rejects.toMatchObject({ code: 'ABORTED' })
  answer(true)
  expect(new Set(await Promise.all(others))).toEqual(new Set(['0x14a34']))
  expect(signed).toHaveBeenCalledTimes(1)
  await expectPaidOnce(world, wallet.address, { calls: 10 })
})

describe('a purchase whose outcome is known', () => {
  test.each(['ABORTED', 'CLOSED'] as const)('is returned, although it was to stop: %s', async (code) => {
    const { open, spent } = await newWallet()
    const aborting = new AbortController()
    const stop = () => (code === 'CLOSED' ? tollgate.close() : aborting.abort())
    const storage = tellingStorage({ onEnded: stop })
    const tollgate = open({ storage })
    expect(await tollgate.buy({ signal: aborting.signal })).toMatchObject({ amount: PRICE })
    expect(await spent()).toBe(PRICE)
    const payments = await Promise.all((await storage.list('payments/')).map((key) => storage.get(key)))
    expect(payments.map((text) => JSON.parse(text ?? '') as object)).toMatchObject([{ state: 'paid' }])
  })

  test('is returned if it cannot be stored, and the next one returns it again', async () => {
    const { open, spent } = await newWallet()
    const fail = () => {
      throw new Error('The disk is full')
    }
    let onEnded: (() => void) | undefined = fail
    const tollgate = open({ storage: tellingStorage({ onEnded: () => onEnded?.() }) })
    const purchase = await tollgate.buy()
    onEnded = undefined
    expect((await tollgate.buy()).transaction).toBe(purchase.transaction)
    expect(await spent()).toBe(PRICE)
    await tollgate.buy()
    expect(await spent()).toBe(2n * PRICE)
  })
})

test('a sign-in that stops before it is asked for is not asked for; one that stops after frees the next', async () => {
  const { wallet, open } = await newWallet()
  let tell: () => void = () => undefined
  const asked = new Promise<void>((resolve) => (tell = resolve))
  const signMessage = jest.spyOn(wallet, 'signMessage').mockImplementation(() => {
    tell()
    return new Promise(() => undefined)
  })
  const storage = memoryStorage()
  const early = new AbortController()
  const send = globalThis.fetch
  const fetching = jest.spyOn(globalThis, 'fetch').mockImplementation((input, init) => {
    if (new Request(input).url.includes('/auth/nonce')) early.abort()
    return send(input, init)
  })
  const tollgate = open({ storage })
  const unasked = tollgate.request(CHAIN, 'eth_chainId', [], { signal: early.signal })
  await expect(unasked).rejects.toMatchObject({ code: 'ABORTED' })
  expect(signMessage).not.toHaveBeenCalled()
  fetching.mockRestore()

  const late = new AbortController()
  const unanswered = tollgate.request(CHAIN, 'eth_chainId', [], { signal: late.signal })
  await asked
  late.abort()
  await expect(unanswered).rejects.toMatchObject({ code: 'ABORTED' })
  signMessage.mockRestore()
  expect(await open({ storage }).request(CHAIN, 'eth_chainId')).toBe('0x14a34')
})

test.each([
  [-600, 'behind'],
  [600, 'ahead of'],
])('a clock that is %i seconds off is named, and nothing is paid by it', async (seconds, side) => {
  const { signed, open } = await newWallet()
  const [signedIn, other] = [open(), open()]
  await signedIn.keys.list()
  const now = Date.now.bind(Date)
  jest.spyOn(Date, 'now').mockImplementation(() => now() + seconds * 1000)
  const refusal = {
    code: 'CLOCK_WRONG',
    message: expect.stringMatching(new RegExp(` (599|600|601) seconds ${side}`)) as string,
  }
  await expect(signedIn.buy()).rejects.toMatchObject(refusal)
  await expect(other.buy()).rejects.toMatchObject(refusal)
  expect(signed).not.toHaveBeenCalled()
})

test('signing out with a token that has expired ends the session for its refresh token, too', async () => {
  const { open } = await newWallet()
  const storage = memoryStorage()
  const tollgate = open({ storage })
  await tollgate.keys.list()
  const [key = ''] = await storage.list('sessions/')
  const session = JSON.parse((await storage.get(key)) ?? '') as { token: string; refreshToken: string }
  // As the gateway answers for a token that has expired.
  await storage.set(key, JSON.stringify({ ...session, token: `${session.token.slice(0, -3)}xxx` }))
  await tollgate.signOut()
  const refreshed = await fetch(`${world.gateway.url}/auth/refresh`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ refresh_token: session.refreshToken }),
  })
  expect(refreshed.status).toBe(403)
})
