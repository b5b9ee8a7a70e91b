import { describeInBrowser } from '@tollgate/browser-testing'
import { closeAll, startWebhookReceiver } from '@tollgate/testing'
import { Wallet, type HDNodeWallet } from 'ethers'
import { type Page } from 'playwright-core'
import { Webhook } from 'standardwebhooks'
import { buyButton, connectWallet } from './testing/buyer-console'
import {
  accessibilityProblems,
  BLOCKED_SITE_DATA,
  LARGE,
  openConsole,
  overflowOf,
  SMALL,
  type OpenConsole,
} from './testing/console-page'
import { startObservedWorld, type ObservedWorld } from './testing/observed-world'
import { answerAsWallet } from './testing/wallet-page'

describeInBrowser('the console of a buyer', () => {
  let world: ObservedWorld
  let browser: OpenConsole
  let wallet: HDNodeWallet
  let isRefusing = false

  beforeAll(async () => {
    // An answer that is not known at once leaves the payment pending.
    world = await startObservedWorld({
      overrides: { environment: () => ({ SETTLE_TIMEOUT_SECONDS: '2' }) },
    })
    browser = await openConsole((method, params) => {
      if (isRefusing && method !== 'eth_accounts') throw new Error('User rejected the request')
      return method === 'eth_accounts' ? [] : answerAsWallet(wallet, method, params)
    })
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    await closeAll()
    expect(errors).toEqual([])
  }, 30_000)
  beforeEach(async () => {
    isRefusing = false
    wallet = await world.newPayer()
  })

  const open = (path = '') => browser.openPage(`${world.gateway.url}/console/#/${path}`)

  const connect = connectWallet
  const buy = (page: Page) => buyButton(page).click()

  test('the root of the gateway leads to it', async () => {
    const page = await browser.openPage(world.gateway.url)
    expect(page.url()).toBe(`${world.gateway.url}/console/`)
    await page.getByText('0.01 USDC').waitFor()
    await page.close()
  })

  test('connects a wallet, buys, calls, and shows what it cost', async () => {
    const page = await open('plans')
    await connect(page)
    await buy(page)
    await page.getByText('You have bought 100 credits.').waitFor()
    expect(await page.locator('[data-state=done]').count()).toBe(5)

    await page.getByRole('link', { name: 'Try a call' }).click()
    await page.getByRole('combobox', { name: 'Method' }).fill('eth_chainId')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('"result": "0x14a34"').waitFor()
    await page.getByText('1 credit charged').waitFor()
    await page.getByText('99 credits left').waitFor()
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Run')

    await page.getByRole('combobox', { name: 'Method' }).fill('eth_unknown')
    expect(await page.getByText('"result": "0x14a34"').count()).toBe(0)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('error -32601').waitFor()
    await page.getByText('nothing charged').waitFor()

    await page.getByRole('link', { name: 'Calls', exact: true }).click()
    await page.getByRole('table').getByText('eth_chainId').waitFor()
    // The chain has one name, whatever a record calls it.
    await page.getByRole('table').getByText('base-sepolia').first().waitFor()
    await page.getByRole('link', { name: 'Payments', exact: true }).click()
    await page.getByRole('table').getByText('credited').waitFor()
    await page.close()
  })

  test('a wallet that refuses to sign buys nothing, and may try again', async () => {
    const page = await open('plans')
    await connect(page)
    isRefusing = true
    await buy(page)
    await page.getByText('Nothing was bought').waitFor()
    await page.getByText('You did not sign the text in your wallet. Nothing was paid.').waitFor()
    isRefusing = false
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('You have bought 100 credits.').waitFor()
    await page.close()
  })

  test('a wallet without money sees why, and pays nothing', async () => {
    wallet = Wallet.createRandom()
    const page = await open('plans')
    await connect(page)
    await buy(page)
    await page.getByText('Nothing was bought').waitFor()
    await page.getByRole('alert').getByText('the account that pays has too little of the token').waitFor()
    expect(await world.creditsOf(wallet.address)).toEqual([])
    await page.close()
  })

  test('shows a pending payment as such until the chain confirms it', async () => {
    const { anvil } = world.infrastructure
    const page = await open('plans')
    await connect(page)
    await anvil.setPace('stopped')
    try {
      await buy(page)
      await page.getByText('The payment is under way').waitFor()
      await page.getByText(/do not sign/i).waitFor()
    } finally {
      await anvil.setPace('at-once')
    }
    await page.getByText('You have bought 100 credits.').waitFor()
    expect(await world.creditsOf(wallet.address)).toMatchObject([{ remaining_credits: 100 }])
    await page.close()
  })

  test('Keplr signs in, pays on Cosmos, and calls', async () => {
    const page = await open('plans')
    await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Keplr' }).click()
    await page.getByRole('dialog').waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Buy 100 credits of Cosmos starter' }).click()
    await page.getByText('You have bought 100 credits.').waitFor()
    await page.getByRole('link', { name: 'Try a call' }).click()
    await page.getByRole('combobox', { name: 'Chain' }).click()
    await page.getByRole('option', { name: 'tollgate-devnet-1' }).click()
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('"network": "tollgate-devnet-1"').waitFor()
    await page.getByText('99 credits left').waitFor()
    await page.close()
  })

  test('creates an access key, shows it once, and deletes it', async () => {
    const page = await open('plans')
    await connect(page)
    await buy(page)
    await page.getByText('You have bought 100 credits.').waitFor()
    await page.getByRole('link', { name: 'Access keys' }).click()
    await page.getByLabel('Label').fill('explorer')
    await page.getByLabel('Credits a day').fill('5')
    await page.getByRole('button', { name: 'Create the key' }).click()
    const url = await page.getByText(/\/v1\/base-sepolia\/tgk_/).textContent()
    const answer = await fetch(url ?? '', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}',
    })
    expect(await answer.json()).toMatchObject({ result: '0x14a34' })
    await page.getByRole('button', { name: 'I have stored it' }).click()
    expect(await page.getByText(/tgk_/).count()).toBe(0)
    await page.getByRole('button', { name: 'Delete the key explorer' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await page.getByText('No keys yet').waitFor()
    await page.close()
  })

  test('adds a webhook, whose receiver verifies what happens to the wallet', async () => {
    const receiver = await startWebhookReceiver()
    const page = await open('webhooks')
    await connect(page)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('link', { name: 'Add an endpoint' }).first().click()
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByRole('checkbox', { name: 'credits.bought' }).check()
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    const secret = (await page.getByText(/^whsec_/).textContent()) ?? ''
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('link', { name: 'Plans', exact: true }).click()
    await buy(page)
    await page.getByText('You have bought 100 credits.').waitFor()
    const [bought] = await receiver.until(1)
    if (!bought) throw new Error('nothing was received')
    expect(new Webhook(secret).verify(bought.text, bought.headers as Record<string, string>)).toMatchObject({
      type: 'credits.bought',
      data: { payer: wallet.address, credits: 100 },
    })

    await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
    await page.getByRole('link', { name: receiver.url }).click()
    await page
      .getByRole('table')
      .getByRole('link', { name: /^Delivery/ })
      .first()
      .click()
    await page.getByText('delivered', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send again' }).click()
    const again = (await receiver.until(2))[1]
    expect(again?.headers['webhook-id']).toBe(bought.headers['webhook-id'])
    await page.close()
  })

  test('keeps what was typed while the gateway cannot be reached', async () => {
    const page = await open('plans')
    await connect(page)
    await buy(page)
    await page.getByText('You have bought 100 credits.').waitFor()
    await page.getByRole('link', { name: 'Access keys' }).click()
    await page.getByText('No keys yet').waitFor()
    await page.getByLabel('Label').fill('kept')
    await browser.context.setOffline(true)
    const offline = page.getByRole('status').getByText('You are offline')
    await offline.waitFor()
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByText('That did not work').waitFor()
    expect(await page.getByLabel('Label').inputValue()).toBe('kept')
    await browser.context.setOffline(false)
    await offline.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByText('The key kept is created').waitFor()
    await page.close()
  })

  test('says within ten seconds that the gateway does not answer, and moves nothing for whom motion disturbs', async () => {
    // A clock is of all pages of a browser.
    const clocked = await openConsole()
    const page = await clocked.context.newPage()
    await page.emulateMedia({ reducedMotion: 'reduce' })
    await page.clock.install()
    await page.route('**/pricing', () => undefined)
    await page.goto(`${world.gateway.url}/console/#/plans`)
    await page.getByText('Loading').first().waitFor({ state: 'attached' })
    expect(
      await page.evaluate("document.getAnimations().filter((one) => one.playState === 'running').length"),
    ).toBe(0)
    await page.clock.runFor(10_000)
    expect(await page.getByText('This takes longer than usual').first().isVisible()).toBe(true)
    await clocked.close()
  })

  test('works in a browser that blocks site data', async () => {
    const page = await browser.openPage(`${world.gateway.url}/console/#/plans`, { script: BLOCKED_SITE_DATA })
    await page.getByText('0.01 USDC').waitFor()
    await connect(page)
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
    await page.getByRole('link', { name: 'Playground', exact: true }).click()
    await page.getByRole('button', { name: 'Run' }).waitFor()
    await page.close()
  })

  test('asks for the next calls a few times, and then only at the press of a button', async () => {
    // A clock is of all pages of a browser.
    const clocked = await openConsole((method, params) =>
      method === 'eth_accounts' ? [] : answerAsWallet(wallet, method, params),
    )
    const page = await clocked.context.newPage()
    await page.clock.install()
    let refused = 0
    await page.route('**/history/**', (route) => {
      if (!route.request().url().includes('before=')) return route.fulfill({ json: firstCalls })
      refused += 1
      return route.fulfill({ status: 500, json: { code: 'INTERNAL', message: 'no' } })
    })
    await page.goto(`${world.gateway.url}/console/#/calls`)
    await connect(page)
    await page.getByRole('table').press('End')
    const failed = page.getByRole('alert').getByText('That did not work')
    while (!(await failed.isVisible())) await page.clock.runFor(1_000)
    expect(refused).toBe(4)
    await page.clock.runFor(600_000)
    expect(refused).toBe(4)
    await page.getByRole('button', { name: 'Try again' }).click()
    while (refused < 5) await page.clock.runFor(100)
    await clocked.close()
  })

  test('does not call a wallet unable to pay while the plans cannot be read', async () => {
    const page = await open('plans')
    await connect(page)
    await page.getByText('0.01 USDC').waitFor()
    await page.route('**/pricing', (route) =>
      route.fulfill({ status: 400, json: { code: 'X', message: 'no plans' } }),
    )
    await page.goto(`${world.gateway.url}/console/#/keys`)
    await page.reload()
    await connect(page)
    await page.getByRole('alert').getByText('no plans').waitFor()
    expect(await page.getByText('can pay none of the plans').count()).toBe(0)
    await page.unroute('**/pricing')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('Keys are private').waitFor()
    await page.close()
  })

  test('lists each wallet that announces itself, and none that does so wrongly', async () => {
    const page = await open('plans')
    await page.evaluate(`
      const announce = (detail) => window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail }))
      const provider = { request: () => Promise.reject({ amount: 1n }) }
      announce({ provider })
      announce(undefined)
      announce({ info: { uuid: '2', name: 'Second wallet', icon: '', rdns: 'example.wallet' }, provider })
      announce({ info: { uuid: '3', name: '', icon: '', rdns: '' }, provider })
    `)
    await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).click()
    const dialog = page.getByRole('dialog')
    for (const name of ['Test wallet', 'Second wallet', 'A wallet without a name'])
      await dialog.getByRole('button', { name }).waitFor()
    await dialog.getByRole('button', { name: 'Second wallet' }).click()
    await dialog.getByText('That did not work').waitFor()
    await page.close()
  })

  test.each(['light', 'dark'] as const)(
    'breaks no rule of accessibility, and fits 360 pixels, %s',
    async (scheme) => {
      const page = await open('plans')
      await page.emulateMedia({ colorScheme: scheme })
      const found: Record<string, unknown> = {}
      const check = async (name: string) => {
        for (const size of [LARGE, SMALL]) {
          await page.setViewportSize(size)
          const problems = await accessibilityProblems(page)
          const overflow = await overflowOf(page)
          if (problems.length > 0 || overflow > 0) found[`${name} at ${size.width}`] = { problems, overflow }
        }
        await page.setViewportSize(LARGE)
      }
      await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).click()
      await page.getByRole('dialog').waitFor()
      await check('wallets')
      await page.getByRole('button', { name: 'Test wallet' }).click()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await buy(page)
      await page.getByText('You have bought 100 credits.').waitFor()
      await check('purchase')
      await page.getByRole('link', { name: 'Try a call' }).click()
      await page.getByRole('button', { name: 'Run' }).click()
      await page.getByText('1 credit charged').waitFor()
      await check('answer')
      await page.getByRole('link', { name: 'Access keys' }).click()
      await page.getByText('No keys yet').waitFor()
      await check('keys')
      await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
      await page.getByRole('link', { name: 'Add an endpoint' }).first().waitFor()
      await page.getByRole('status').filter({ hasText: 'Loading' }).first().waitFor({ state: 'hidden' })
      await check('webhooks')
      await page.getByRole('link', { name: 'Payments', exact: true }).click()
      await page.getByRole('table').getByRole('link').first().waitFor()
      await check('payments')
      await page.getByRole('table').getByRole('link').first().click()
      await page.getByRole('heading', { name: 'Steps' }).waitFor()
      await check('payment')
      for (const name of ['Calls', 'Overview']) {
        await page.getByRole('link', { name, exact: true }).click()
        await page.getByRole('table').first().waitFor()
        await check(name)
      }
      expect(found).toEqual({})
      await page.close()
    },
  )
})

/** The newest of more calls than a page has. */
const firstCalls = {
  data: Array.from({ length: 100 }, (_, at) => ({
    id: 1000 - at,
    pricing_plan_id: 1,
    chain_id: '84532',
    transport: 'rpc',
    rpc_method: 'eth_chainId',
    credits: 1,
    status_code: 200,
    outcome: 'answered',
    latency_ms: 1,
    created_at: '2026-11-25T12:00:00.000Z',
    key_label: null,
  })),
  pagination: { total: 200 },
}
