import { Secp256k1Wallet } from '@cosmjs/amino'
import { describeInBrowser, openBrowser, type TestBrowser } from '@tollgate/browser-testing'
import { fundCosmosWallet } from '@tollgate/cosmos-devchain'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { root, startWorld, type World } from './testing/world'

/** A page that may connect to the gateway only. Its wallet is one of Cosmos, as an extension gives it. */
const PAGE = `
import { Secp256k1Wallet } from '@cosmjs/amino'
import { createTollgate } from '@tollgate/wallet'

globalThis.buy = async ({ url, key, network, price }) => {
  const policy = document.createElement('meta')
  policy.httpEquiv = 'Content-Security-Policy'
  policy.content = 'connect-src ' + url
  document.head.append(policy)
  globalThis.blocked = []
  document.addEventListener('securitypolicyviolation', ({ blockedURI }) => blocked.push(blockedURI))
  const tollgate = createTollgate({
    url,
    wallet: await Secp256k1Wallet.fromKey(Uint8Array.from(key), 'cosmos'),
    limits: { assets: [{ network, asset: 'uatom', perPayment: BigInt(price) }] },
  })
  const { credits } = await tollgate.buy()
  return { credits, blocked }
}

/** Resolves with what the policy has blocked. */
globalThis.connect = async (url) => {
  const violation = new Promise((resolve) =>
    document.addEventListener('securitypolicyviolation', ({ blockedURI }) => resolve(blockedURI)),
  )
  await fetch(url).catch(() => undefined)
  return violation
}`

type Settings = { url: string; key: number[]; network: string; price: string }
declare const connect: (url: string) => Promise<string>
declare const buy: (settings: Settings) => Promise<{ credits: number; blocked: string[] }>

describeInBrowser('a page in a browser', () => {
  let world: World
  let browser: TestBrowser
  beforeAll(async () => {
    world = await startWorld()
    browser = await openBrowser({
      script: PAGE,
      folder: join(root, 'e2e'),
      alias: { '@tollgate/wallet': join(root, 'packages/wallet/src/index.ts') },
    })
  }, 120_000)
  afterAll(async () => {
    await browser.close()
    await world.stop()
  }, 30_000)

  test('buys credits with a Cosmos wallet, and connects to the gateway only', async () => {
    const { gateway, cosmosPlan, infrastructure } = world
    const key = randomBytes(32)
    const [account] = await (await Secp256k1Wallet.fromKey(key, 'cosmos')).getAccounts()
    await fundCosmosWallet(infrastructure.cosmos.rpcUrl, account!.address, `${cosmosPlan.amount}uatom`)
    const tab = await browser.openPage()
    const settings = {
      url: gateway.url,
      key: [...key],
      network: `cosmos:${cosmosPlan.chain_id}`,
      price: cosmosPlan.amount,
    }
    const bought = await tab.evaluate((given) => buy(given), settings)
    expect(bought).toEqual({ credits: cosmosPlan.credits, blocked: [] })

    const node = infrastructure.cosmos.rpcUrl
    expect(await tab.evaluate((url) => connect(url), node)).toContain(new URL(node).host)
  })
})
