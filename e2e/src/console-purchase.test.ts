import { describeInBrowser } from '@tollgate/browser-testing'
import { closeAll } from '@tollgate/testing'
import { fundWallet, USDC_ADDRESS } from '@tollgate/devnet'
import { createTollgate } from '@tollgate/wallet'
import { Wallet, type HDNodeWallet } from 'ethers'
import { type BrowserContext, type Page, type Route } from 'playwright-core'
import { applyCatalog } from './testing/catalog'
import { buyButton, connectWallet, openBuyerConsole } from './testing/buyer-console'
import { accessibilityProblems, LARGE, overflowOf, SMALL } from './testing/console-page'
import { startObservedWorld, BUDGET, type ObservedWorld } from './testing/observed-world'

const BOUGHT = 'You have bought 100 credits.'
const BOUGHT_EARLIER = 'Your earlier purchase of 100 credits is credited.'
const UNKNOWN = 'The outcome is not known yet'
const NOTHING = 'Nothing was bought'
/** How long a payment of a plan lives whose chain stops for longer. */
const BRIEF_SECONDS = 12

const isPayment = (route: Route) =>
  route.request().method() === 'POST' && 'payment-signature' in route.request().headers()

describeInBrowser('a purchase in the console', () => {
  let world: ObservedWorld
  let browser: Awaited<ReturnType<typeof openBuyerConsole>>
  let context: BrowserContext
  let wallet: HDNodeWallet

  beforeAll(async () => {
    world = await startObservedWorld()
    browser = await openBuyerConsole(world.gateway.url)
    context = browser.context
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    await closeAll()
    expect(errors).toEqual([])
  }, 30_000)
  beforeEach(async () => {
    wallet = await world.newPayer()
    browser.use(wallet)
  })
  afterEach(async () => {
    await context.setOffline(false)
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await Promise.all(context.pages().map((page) => page.close()))
  })

  /** What `answer` does with requests that carry a payment; returns how many came. */
  async function onPayments(answer: (route: Route) => Promise<void>) {
    let count = 0
    await context.route('**/credits', async (route) => {
      if (!isPayment(route)) return route.continue()
      count += 1
      await answer(route)
    })
    return () => count
  }

  /** What the gateway says of payments does not arrive. */
  const hidePayments = () => context.route('**/payments/**', (route) => route.abort())

  async function expectPaidOnce() {
    expect(await world.creditsOf(wallet.address)).toMatchObject([{ remaining_credits: 100 }])
    expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - BigInt(world.plan.amount))
    expect(browser.signatures()).toBe(1)
  }

  const go = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).click()

  test('goes on while other pages are shown, and is not sold a second time', async () => {
    const page = await browser.openPlans()
    const { shown, release } = browser.hold()
    await buyButton(page).click()
    await shown
    await go(page, 'Overview')
    await page.getByRole('heading', { name: 'Credits left' }).waitFor()
    await go(page, 'Plans')
    await page.getByText('Sign the payment: under way').waitFor()
    expect(await buyButton(page).isDisabled()).toBe(true)

    await page.goBack()
    await page.getByRole('heading', { name: 'Credits left' }).waitFor()
    await page.goForward()
    await page.getByText('Sign the payment: under way').waitFor()
    expect(await buyButton(page).isDisabled()).toBe(true)
    release()
    await page.getByText(BOUGHT).waitFor()
    await expectPaidOnce()
  })

  test('in one tab is not begun in another one', async () => {
    const [one, two] = [await browser.openPlans(), await browser.open('plans')]
    await two.getByRole('banner').getByText('0x').waitFor()
    const { shown, release } = browser.hold()
    await buyButton(one).click()
    await shown
    await buyButton(two).click()
    await two.getByText('This wallet is buying elsewhere').waitFor()
    for (const page of [one, two]) expect(await accessibilityProblems(page)).toEqual([])
    release()
    await one.getByText(BOUGHT).waitFor()
    await expectPaidOnce()
  })

  test('is gone on with by its own wallet only', async () => {
    const other = await world.newPayer()
    await onPayments(async (route) => {
      await route.fetch()
      await route.fulfill({ status: 403, contentType: 'text/html', body: 'blocked' })
    })
    await hidePayments()
    const page = await browser.openPlans()
    await buyButton(page).click()
    const again = page.getByRole('button', { name: 'Ask again' })
    await again.waitFor()
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await hidePayments()

    await browser.change(other)
    await page.getByText(/^Connect 0x.* again to go on\.$/).waitFor()
    await connectWallet(page)
    await page.getByText(/^Connect 0x.* again to go on\.$/).waitFor()
    expect(await again.count()).toBe(0)
    expect(await buyButton(page).isEnabled()).toBe(true)

    await browser.change(wallet)
    await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).waitFor()
    await connectWallet(page)
    expect(await buyButton(page).isDisabled()).toBe(true)
    await again.click()
    await page.getByText(BOUGHT_EARLIER).waitFor()
    await expectPaidOnce()
    expect(await world.creditsOf(other.address)).toEqual([])
  })

  test.each([
    [403, 'text/html'],
    [404, 'text/html'],
    [409, 'text/html'],
    [413, 'text/html'],
    [401, 'application/json'],
    [200, 'text/html'],
  ])('that is taken is never called “nothing”, whatever answers: %i %s', async (status, contentType) => {
    await onPayments(async (route) => {
      await route.fetch()
      await route.fulfill({
        status,
        contentType,
        body: contentType === 'text/html' ? '<html>' : '{"message":"no"}',
      })
    })
    await hidePayments()
    const page = await browser.openPlans()
    await buyButton(page).click()
    await page.getByRole('button', { name: 'Ask again' }).waitFor()
    await page.getByText(UNKNOWN).waitFor()
    expect(await page.getByText(NOTHING).count()).toBe(0)
    expect(await buyButton(page).isDisabled()).toBe(true)
    await context.unroute('**/payments/**')
    await page.getByText(BOUGHT).waitFor()
    expect(await page.locator('[data-state=done]').count()).toBe(5)
    await expectPaidOnce()
  })

  test('is shown as credited although its own answer never comes', async () => {
    await onPayments(async (route) => {
      await route.fetch()
      await route.fulfill({ status: 503, body: '' })
    })
    const page = await browser.openPlans()
    await buyButton(page).click()
    await page.getByText(BOUGHT).waitFor()
    expect(await buyButton(page).isEnabled()).toBe(true)
    await expectPaidOnce()
  })

  test('that was signed and not sent goes on after a reload', async () => {
    await onPayments((route) => route.abort())
    const page = await browser.openPlans()
    await buyButton(page).click()
    await page.getByText(UNKNOWN).waitFor()
    await page.setViewportSize(SMALL)
    expect([await accessibilityProblems(page), await overflowOf(page)]).toEqual([[], 0])
    await page.setViewportSize(LARGE)
    await page.reload()
    await page.getByText(UNKNOWN).waitFor()
    expect(await buyButton(page).isDisabled()).toBe(true)
    expect(await world.creditsOf(wallet.address)).toEqual([])
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByText(BOUGHT_EARLIER).waitFor()
    await expectPaidOnce()
    expect(browser.signIns()).toBe(1)
  })

  test('that was taken without an answer is shown after a reload on another page', async () => {
    await onPayments(async (route) => {
      await route.fetch()
      await route.abort()
    })
    const page = await browser.openPlans()
    await buyButton(page).click()
    await page.getByText(UNKNOWN).waitFor()
    await context.unrouteAll({ behavior: 'ignoreErrors' })
    await page.goto(`${world.gateway.url}/console/#/payments`)
    await page.reload()
    await page.getByRole('table').getByText('credited').waitFor()
    await go(page, 'Plans')
    await page.getByText(BOUGHT_EARLIER).waitFor()
    await expectPaidOnce()
  })

  test('that is signed offline is not called sent, and goes on when the browser is online', async () => {
    const page = await browser.openPlans()
    const { shown, release } = browser.hold()
    await buyButton(page).click()
    await shown
    await context.setOffline(true)
    release()
    await page.getByText('The payment is signed, and perhaps not sent').waitFor()
    expect(await page.getByText('also if you close this page').count()).toBe(0)
    expect(await buyButton(page).isDisabled()).toBe(true)
    await context.setOffline(false)
    await page.getByText(BOUGHT).waitFor()
    await expectPaidOnce()
  })

  test('that was refused is sent again at the press of a button only, and is the same', async () => {
    wallet = Wallet.createRandom()
    browser.use(wallet)
    const sent = await onPayments((route) => route.continue())
    const page = await browser.openPlans()
    await buyButton(page).click()
    await page.getByText(NOTHING).waitFor()
    await fundWallet(world.infrastructure.rpcUrl, wallet.address, { usdc: BUDGET })
    await page.reload()
    await page.getByRole('banner').getByText('0x').waitFor()
    await go(page, 'Payments')
    await page.getByRole('heading', { name: 'Payments', level: 1 }).waitFor()
    await go(page, 'Plans')
    await buyButton(page).waitFor()
    expect([sent(), await page.getByText(UNKNOWN).count()]).toEqual([1, 0])
    await buyButton(page).click()
    await page.getByText(NOTHING).or(page.getByText(BOUGHT_EARLIER)).waitFor()
    expect([sent(), browser.signatures()]).toEqual([2, 1])
  })

  test('that was refused, and then taken for another tab, is not made again by a retry', async () => {
    wallet = Wallet.createRandom()
    browser.use(wallet)
    const page = await browser.openPlans()
    await buyButton(page).click()
    await page.getByText(NOTHING).waitFor()
    await fundWallet(world.infrastructure.rpcUrl, wallet.address, { usdc: BUDGET })

    const other = await browser.open('plans')
    await other.getByRole('banner').getByText('0x').waitFor()
    await buyButton(other).click()
    const refused = other.getByText(NOTHING)
    const taken = other.getByText(BOUGHT_EARLIER)
    await refused.or(taken).waitFor()
    // For some seconds the balance is the one that was read before.
    while (await refused.isVisible()) {
      const answered = other.waitForResponse((response) => response.url().endsWith('/credits'))
      await other.getByRole('button', { name: 'Try again' }).click()
      await answered
      await refused.or(taken).waitFor()
    }

    await page.bringToFront()
    const retry = page.getByRole('button', { name: 'Try again' })
    if (await retry.isVisible()) await retry.click()
    await page.getByText(BOUGHT).or(page.getByText(BOUGHT_EARLIER)).waitFor()
    await expectPaidOnce()
  })

  test('that another client makes meanwhile is shown, and no second one is asked for', async () => {
    let tell: () => void = () => undefined
    const asked = new Promise<void>((resolve) => (tell = resolve))
    let release: () => void = () => undefined
    const made = new Promise<void>((resolve) => (release = resolve))
    await context.route('**/credits', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      tell()
      await made
      await route.continue()
    })
    const page = await browser.openPlans()
    await buyButton(page).click()
    await asked
    const asset = { network: 'eip155:84532', asset: USDC_ADDRESS, perPayment: world.plan.amount }
    const other = createTollgate({ url: world.gateway.url, wallet, limits: { assets: [asset] } })
    await other.buy()
    other.close()
    release()
    await page.getByText(BOUGHT_EARLIER).waitFor()
    expect(browser.signatures()).toBe(0)
    expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - BigInt(world.plan.amount))
  })

  test('can be cancelled while the wallet does not answer, and a late signature pays nothing', async () => {
    const page = await browser.openPlans()
    const { shown, release } = browser.hold()
    await buyButton(page).click()
    await shown
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('Nothing was paid. Reject the request').waitFor()
    release()
    await buyButton(page).click()
    await page.getByText(BOUGHT).waitFor()
    expect(browser.signatures()).toBe(2)
    expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET - BigInt(world.plan.amount))
  })

  test('is what a call waits for, and the call can be cancelled', async () => {
    const page = await browser.openPlans()
    const { shown, release } = browser.hold()
    await buyButton(page).click()
    await shown
    await go(page, 'Playground')
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByText('Your purchase on the page Plans comes first').waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByText('You cancelled.').waitFor()
    release()
    await go(page, 'Plans')
    await page.getByText(BOUGHT).waitFor()
    await expectPaidOnce()
  })

  test('whose chain stops until it has expired is not called broadcast, bought or over before the gateway knows', async () => {
    const { rpcUrl, anvil } = world.infrastructure
    const brief = { ...world.plan, id: 9, plan_name: 'Brief', max_timeout_seconds: BRIEF_SECONDS }
    await applyCatalog(world, { plans: [brief], upstreamUrl: rpcUrl })
    const page = await browser.openPlans()
    const { shown, release } = browser.hold()
    await page.getByRole('button', { name: 'Buy 100 credits of Brief' }).click()
    await shown
    process.kill(anvil.pid, 'SIGSTOP')
    try {
      release()
      await page.getByText(/^Expires in \d+ s; after that nothing can be taken\.$/).waitFor()
      await page.getByText('You may close this page').waitFor()
      expect(await page.locator('[data-state=active]').textContent()).toContain('Broadcast')
      await page.getByText('The payment has expired, and its outcome is not known yet').waitFor()
      expect(await page.getByText(NOTHING).count()).toBe(0)
    } finally {
      process.kill(anvil.pid, 'SIGCONT')
    }
    expect(await page.getByText(/did not confirm|not approved|sign a new/i).count()).toBe(0)
    expect(await world.token.balanceOf(wallet.address)).toBe(BUDGET)
    expect(browser.signatures()).toBe(1)
    await applyCatalog(world, { plans: [], upstreamUrl: rpcUrl })
  })

  test('keeps the focus in the page', async () => {
    const page = await browser.openPlans()
    const focused = () =>
      page.evaluate<string>(
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent",
      )
    expect(await focused()).toMatch(/^0x/)
    const { shown, release } = browser.hold()
    await buyButton(page).click()
    await shown
    expect(await focused()).toBe('Buying: Base Sepolia starter')
    release()
    await page.getByText(BOUGHT).waitFor()
    expect(await focused()).toBe('Buying: Base Sepolia starter')
  })

  test('leaves a session, which ends when its reader signs out', async () => {
    const page = await browser.openPlans()
    await buyButton(page).click()
    await page.getByText(BOUGHT).waitFor()
    const [session = ''] = await storedSessions(page, wallet)
    const { token } = JSON.parse(session) as { token: string }
    const keys = async () =>
      (await fetch(`${world.gateway.url}/keys`, { headers: { authorization: `Bearer ${token}` } })).status
    expect(await keys()).toBe(200)

    const signOut = async () => {
      await page.getByRole('banner').getByText('0x').click()
      await page.getByRole('menuitem', { name: 'Sign out and disconnect' }).click()
    }
    await context.setOffline(true)
    await signOut()
    await page.getByRole('dialog').getByText('The session has not ended').waitFor()
    await context.setOffline(false)
    await page.getByRole('dialog').getByRole('button', { name: 'Try again' }).first().click()
    await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).waitFor()
    expect([await keys(), await storedSessions(page, wallet)]).toEqual([403, []])
  })
})

/** Of the wallet, as the package keeps them. */
const storedSessions = (page: Page, { address }: { address: string }) =>
  page.evaluate<string[]>(
    `new Promise((resolve) => {
      indexedDB.open('tollgate').onsuccess = ({ target: { result } }) => {
        const values = result.transaction('values').objectStore('values')
        const range = IDBKeyRange.bound('sessions/', 'sessions0')
        values.getAllKeys(range).onsuccess = ({ target: { result: keys } }) => {
          values.getAll(range).onsuccess = ({ target }) => {
            result.close()
            resolve(target.result.filter((_, at) => keys[at].includes('${address.toLowerCase()}')))
          }
        }
      }
    })`,
  )
