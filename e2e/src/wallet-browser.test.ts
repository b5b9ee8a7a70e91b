import { describeInBrowser, openBrowser, type TestBrowser } from '@tollgate/browser-testing'
import { USDC_ADDRESS } from '@tollgate/devnet'
import { type HDNodeWallet } from 'ethers'
import { join } from 'node:path'
import { expectPaidOnce } from './testing/expect-payment'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { answerAsWallet } from './testing/wallet-page'
import { root } from './testing/world'

/** A page of an app: its wallet is a browser's, whose key is in Node. `hangAt` stops the page where it would go on. */
const PAGE = `
import { browserStorage, createTollgate } from '@tollgate/wallet'

globalThis.start = ({ url, asset, account, hangAt }) => {
  const provider = { request: ({ method, params = [] }) => walletRequest(account, method, params) }
  const storage = browserStorage()
  const hang = async (step) => {
    if (step !== hangAt) return
    await reached(step)
    await new Promise(() => {})
  }
  const tollgate = createTollgate({
    url,
    wallet: provider,
    limits: { assets: [{ network: 'eip155:84532', asset, perPayment: 10000n }] },
    storage: {
      ...storage,
      async create(key, value) {
        const created = await storage.create(key, value)
        await hang('stored')
        return created
      },
      async set(key, value) {
        if (key.startsWith('payments/')) await hang('answered')
        return storage.set(key, value)
      },
    },
  })
  globalThis.events = []
  for (const name of ['signed-in', 'paid']) tollgate.on(name, () => events.push(name))
  globalThis.call = (times) =>
    Promise.all(Array.from({ length: times }, () => tollgate.request('eip155:84532', 'eth_chainId')))
}`

type Settings = { url: string; asset: string; account: string; hangAt?: string }
declare const start: (settings: Settings) => void
declare const call: (times: number) => Promise<string[]>
declare const events: string[]

describeInBrowser('a page in a browser', () => {
  let world: ObservedWorld
  let browser: TestBrowser
  const wallets = new Map<string, HDNodeWallet>()
  let reached: (step: string) => void = () => undefined

  beforeAll(async () => {
    world = await startObservedWorld()
    browser = await openBrowser({
      script: PAGE,
      folder: root,
      alias: { '@tollgate/wallet': join(root, 'packages/wallet/src/index.ts') },
      functions: {
        walletRequest: (account: string, method: string, params: string[]) => answer(account, method, params),
        reached: (step: string) => reached(step),
      },
    })
  }, 120_000)
  afterAll(async () => {
    await browser.close()
    await world.stop()
  }, 30_000)

  function answer(account: string, method: string, params: string[]) {
    const wallet = wallets.get(account)
    if (!wallet) throw new Error('unknown account')
    return answerAsWallet(wallet, method, params)
  }

  async function newAccount() {
    const wallet = await world.newPayer()
    wallets.set(wallet.address, wallet)
    return wallet.address
  }

  async function open(account: string, hangAt?: string) {
    const tab = await browser.openPage()
    const settings = { url: world.gateway.url, asset: USDC_ADDRESS, account, ...(hangAt ? { hangAt } : {}) }
    await tab.evaluate((given) => start(given), settings)
    return tab
  }

  test('signs in, pays and calls', async () => {
    const account = await newAccount()
    const tab = await open(account)
    expect(await tab.evaluate(() => call(1))).toEqual(['0x14a34'])
    await expectPaidOnce(world, account)
    await tab.close()
  })

  test('shares one session and one payment with another tab', async () => {
    const account = await newAccount()
    const tabs = await Promise.all([open(account), open(account)])
    const answers = await Promise.all(tabs.map((tab) => tab.evaluate(() => call(20))))
    expect(answers.flat()).toEqual(Array.from({ length: 40 }, () => '0x14a34'))
    const seen = await Promise.all(tabs.map((tab) => tab.evaluate(() => events)))
    expect(seen.flat().sort()).toEqual(['paid', 'signed-in'])
    await expectPaidOnce(world, account, { calls: 40 })
    await Promise.all(tabs.map((tab) => tab.close()))
  })

  test.each(['stored', 'answered'])(
    'closed when its payment is %s leaves it to the next tab',
    async (step) => {
      const account = await newAccount()
      const waiting = new Promise((resolve) => (reached = resolve))
      const first = await open(account, step)
      const interrupted = first.evaluate(() => call(1)).catch(() => 'closed')
      expect(await waiting).toBe(step)
      await first.close()
      expect(await interrupted).toBe('closed')

      const second = await open(account)
      expect(await second.evaluate(() => call(1))).toEqual(['0x14a34'])
      await expectPaidOnce(world, account)
      await second.close()
    },
  )

  test('reloaded in the middle pays once', async () => {
    const account = await newAccount()
    const waiting = new Promise((resolve) => (reached = resolve))
    const tab = await open(account, 'stored')
    const interrupted = tab.evaluate(() => call(1)).catch(() => 'reloaded')
    await waiting
    await tab.reload()
    expect(await interrupted).toBe('reloaded')
    await tab.evaluate((given) => start(given), { url: world.gateway.url, asset: USDC_ADDRESS, account })
    expect(await tab.evaluate(() => call(1))).toEqual(['0x14a34'])
    await expectPaidOnce(world, account)
    await tab.close()
  })

  test('leaves no error uncaught', () => {
    expect(browser.uncaught).toEqual([])
  })
})
