import { fundWallet, USDC_ADDRESS } from '@tollgate/devnet'
import { createTollgate, memoryStorage, type Tollgate, type WalletStorage } from '@tollgate/wallet'
import { Wallet, type HDNodeWallet } from 'ethers'
import { PRICE } from './testing/merchants'
import { until } from './testing/paying'
import { BUDGET, startObservedWorld, type ObservedWorld } from './testing/observed-world'

const CHAIN = 'eip155:84532'

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

type Given = {
  storage: WalletStorage
  approve?: () => boolean | Promise<boolean>
  /** `none`: nothing may be paid. */
  perPayment?: bigint | 'none'
}

async function newWallet(given?: HDNodeWallet) {
  const wallet = given ?? (await world.newPayer())
  const signed = jest.spyOn(wallet, 'signTypedData')
  function open({ storage, approve, perPayment = PRICE }: Given) {
    const assets = perPayment === 'none' ? [] : [{ network: CHAIN, asset: USDC_ADDRESS, perPayment }]
    const limits = perPayment === 'none' ? {} : { limits: { assets, ...(approve ? { approve } : {}) } }
    const tollgate = createTollgate({ url: world.gateway.url, wallet, storage, ...limits })
    clients.push(tollgate)
    return tollgate
  }
  return { wallet, signed, open }
}

/** Answers purchases in the place of the gateway, which gets them all the same. */
function answerPurchases(answer: (isPayment: boolean) => Response | undefined) {
  const send = globalThis.fetch
  return jest.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const came = await send(input, init)
    const isPurchase = init?.method === 'POST' && new Request(input, init).url.endsWith('/credits')
    return (isPurchase && answer(new Headers(init.headers).has('payment-signature'))) || came
  })
}

test('a purchase that does not wait fails while another one runs, also while that one signs in', async () => {
  const { wallet, signed, open } = await newWallet()
  const storage = memoryStorage()
  const sign = wallet.signMessage.bind(wallet)
  let answer: () => void = () => undefined
  const answered = new Promise<void>((resolve) => (answer = resolve))
  const asked = new Promise<void>((tell) => {
    jest.spyOn(wallet, 'signMessage').mockImplementation(async (text) => {
      tell()
      await answered
      return sign(text)
    })
  })
  const buying = open({ storage }).buy()
  await asked
  const other = open({ storage })
  await expect(other.buy({ wait: false })).rejects.toMatchObject({ code: 'PURCHASE_UNDER_WAY' })
  answer()
  await buying
  expect(signed).toHaveBeenCalledTimes(1)
  await other.buy({ wait: false })
  expect(signed).toHaveBeenCalledTimes(2)
})

test.each([403, 409])(
  'a payment that a proxy answers with %i stays open until the gateway answers',
  async (status) => {
    const { wallet, signed, open } = await newWallet()
    const storage = memoryStorage()
    const tollgate = open({ storage })
    const proxy = answerPurchases((isPayment) => (isPayment ? new Response('<html>', { status }) : undefined))
    await expect(tollgate.buy()).rejects.toMatchObject({ code: 'GATEWAY_ERROR', details: { status } })
    proxy.mockRestore()

    const stored = await tollgate.openPayments()
    const [record] = (await tollgate.payments()).data
    expect(stored).toEqual([
      {
        url: `${world.gateway.url}/credits`,
        network: CHAIN,
        asset: USDC_ADDRESS,
        payTo: world.plan.pay_to,
        amount: PRICE,
        planId: world.plan.id,
        nonce: record?.nonce,
        signedAt: expect.any(Number) as number,
        validUntil: expect.any(Number) as number,
        isRefused: false,
      },
    ])
    const refusing = open({ storage, approve: () => false })
    expect(await open({ storage, perPayment: 'none' }).buy()).toMatchObject({ credits: 100 })
    expect([await tollgate.openPayments(), signed.mock.calls.length]).toEqual([[], 1])
    await expect(refusing.buy()).rejects.toMatchObject({ code: 'PAYMENT_NOT_APPROVED' })
    expect(await world.creditsOf(wallet.address)).toMatchObject([{ remaining_credits: 100 }])
  },
)

test('a refused payment is listed as such until it is sent again', async () => {
  const { open } = await newWallet(Wallet.createRandom())
  const tollgate = open({ storage: memoryStorage() })
  const isRefused = async () => (await tollgate.openPayments()).map((payment) => payment.isRefused)
  await expect(tollgate.buy()).rejects.toMatchObject({ code: 'PAYMENT_REFUSED' })
  expect(await isRefused()).toEqual([true])

  const proxy = answerPurchases((isPayment) => (isPayment ? new Response('', { status: 403 }) : undefined))
  await expect(tollgate.buy()).rejects.toMatchObject({ code: 'GATEWAY_ERROR' })
  expect(await isRefused()).toEqual([false])
  proxy.mockRestore()
})

test('a refused payment is sent again only within the limits of the client that would send it', async () => {
  const { wallet, signed, open } = await newWallet(Wallet.createRandom())
  const storage = memoryStorage()
  await expect(open({ storage }).buy()).rejects.toMatchObject({ code: 'PAYMENT_REFUSED' })
  await fundWallet(world.infrastructure.rpcUrl, wallet.address, { usdc: BUDGET })

  for (const [perPayment, code] of [
    [PRICE - 1n, 'LIMIT_REACHED'],
    ['none', 'LIMIT_NOT_SET'],
  ] as const) {
    const bounded = open({ storage, perPayment })
    const refusal = {
      code,
      message: expect.stringMatching(/signed earlier and is open until \d\d:\d\d UTC/) as string,
    }
    await expect(bounded.buy()).rejects.toMatchObject(refusal)
    await expect(bounded.request(CHAIN, 'eth_chainId')).rejects.toMatchObject(refusal)
    expect(await bounded.openPayments()).toMatchObject([{ isRefused: true }])
  }
  expect([await world.token.balanceOf(wallet.address), signed.mock.calls.length]).toEqual([BUDGET, 1])

  // A node may be asked for the balance before it has the block of the transfer.
  const bought = await until(
    () => open({ storage }).buy(),
    () => true,
  )
  expect(bought).toMatchObject({ credits: 100 })
  expect([await world.token.balanceOf(wallet.address), signed.mock.calls.length]).toEqual([BUDGET - PRICE, 1])
})

test('a payment that is on its way is followed to its credits by a client that may not pay', async () => {
  const { wallet, signed, open } = await newWallet()
  const storage = memoryStorage()
  const stopping = new AbortController()
  const buying = open({ storage }).buy({ signal: stopping.signal })
  await until(
    () => world.ledger.payments(wallet.address),
    (payments) => payments.length === 1,
  )
  stopping.abort()
  await buying.catch(() => undefined)

  const bounded = open({ storage, perPayment: 'none' })
  expect(await bounded.request(CHAIN, 'eth_chainId')).toBe('0x14a34')
  expect(signed).toHaveBeenCalledTimes(1)
  expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - PRICE)
})

test('a session whose end got no answer is ended by the next attempt', async () => {
  const { open } = await newWallet()
  const storage = memoryStorage()
  const tollgate = open({ storage })
  await tollgate.keys.list()
  const [key = ''] = await storage.list('sessions/')
  const { token } = JSON.parse((await storage.get(key)) ?? '') as { token: string }
  const offline = jest.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('fetch failed'))
  await expect(tollgate.signOut()).rejects.toMatchObject({ code: 'UNREACHABLE' })
  offline.mockRestore()
  await tollgate.signOut()
  const keys = await fetch(`${world.gateway.url}/keys`, { headers: { authorization: `Bearer ${token}` } })
  expect([keys.status, await storage.list('sessions/')]).toEqual([403, []])
})
