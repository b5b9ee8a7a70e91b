import { describeInBrowser } from '@tollgate/browser-testing'
import { type Page } from 'playwright-core'
import {
  accessibilityProblems,
  LARGE,
  openConsole,
  overflowOf,
  SMALL,
  type OpenConsole,
} from './testing/console-page'
import { goTo, merchantPages, type MerchantPages, newEmail } from './testing/merchant-pages'
import { startWorld, walletAt, type World } from './testing/world'

describeInBrowser('what opens in the console breaks no rule of accessibility', () => {
  let world: World
  let browser: OpenConsole
  let pages: MerchantPages
  beforeAll(async () => {
    world = await startWorld()
    const { address } = walletAt(7)
    const answers: Record<string, unknown> = {
      eth_accounts: [address],
      eth_requestAccounts: [address],
      eth_chainId: '0x14a34',
    }
    browser = await openConsole((method) => answers[method])
    pages = merchantPages(browser, world.facilitator.url)
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)

  /** Collects problems by name. */
  function createCheck(page: Page) {
    const found: Record<string, string[]> = {}
    return {
      found,
      async check(name: string) {
        const problems = await accessibilityProblems(page)
        if (problems.length > 0) found[name] = problems
      },
    }
  }

  const submit = (page: Page, name: string) => page.getByRole('main').getByRole('button', { name }).click()

  // Colors in the middle of a fade are too pale, so nothing moves.
  describe.each(['light', 'dark'] as const)('%s', (scheme) => {
    test('menus, lists of choices, dialogs and errors of a merchant', async () => {
      const email = newEmail()
      const page = await pages.signUp(email)
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      const { found, check } = createCheck(page)
      await page.getByRole('button', { name: `Account of ${email}` }).click()
      await page.getByRole('menuitem', { name: 'Sign out' }).waitFor()
      await check('account menu')
      await page.keyboard.press('Escape')

      await goTo(page, 'Settlements')
      await page.getByRole('combobox', { name: 'State' }).click()
      await page.getByRole('option', { name: 'failed' }).waitFor()
      await check('choices')
      await page.getByRole('option', { name: 'failed' }).click()
      await page.getByRole('button', { name: 'Clear filters' }).first().click()
      expect(page.url()).toMatch(/#\/settlements$/)

      await goTo(page, 'Client keys')
      await page.getByRole('link', { name: 'Create a key' }).first().click()
      await page.getByLabel('Name').fill(' ')
      await submit(page, 'Create the key')
      await page.getByText('Give the key a name.').waitFor()
      await check('errors of a key')

      await goTo(page, 'Resources')
      await page.getByRole('link', { name: 'Register a resource' }).first().click()
      await page.getByRole('combobox', { name: 'Asset' }).click()
      await page.getByRole('option', { name: 'USDC on base-sepolia' }).click()
      await page.getByLabel('Resource').fill('shop.example')
      await page.getByLabel('Price').fill('1,000')
      await page.getByLabel('Recipient').fill(' ')
      await submit(page, 'Register a resource')
      await page.getByText('nothing between thousands').waitFor()
      await check('errors of a resource')
      await page.getByLabel('Price').fill('1.000')
      await page.getByText('Buyers pay 1 USDC').waitFor()

      await goTo(page, 'Account')
      await page.getByRole('button', { name: 'Delete the account…' }).click()
      await page.getByRole('dialog').getByLabel('Password', { exact: true }).waitFor()
      await check('dialog of an account')
      expect(found).toEqual({})
      await page.close()
    }, 120_000)

    test('dialogs and errors of an operator, by name of the user', async () => {
      await pages.signUp(`${scheme}@shop.example`).then((page) => page.close())
      const page = await browser.openPage(`${world.facilitator.url}/console/#/operator`)
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      const { found, check } = createCheck(page)
      await page.getByLabel('Admin token').fill('wrong')
      await submit(page, 'Sign in')
      await page.getByText('does not accept this token').waitFor()
      await check('wrong token')
      await page.getByLabel('Admin token').fill(world.secrets.adminToken)
      await submit(page, 'Sign in')

      await page.getByRole('link', { name: 'Settlements', exact: true }).click()
      await page.getByRole('combobox', { name: 'Show' }).click()
      await page.getByRole('option', { name: 'Claimed' }).waitFor()
      await check('choices of an operator')
      await page.keyboard.press('Escape')
      await page.getByRole('link', { name: 'Users', exact: true }).click()
      await page.getByRole('button', { name: `Disable ${scheme}@shop.example` }).click()
      await page.getByRole('dialog', { name: `Disable ${scheme}@shop.example` }).waitFor()
      await check('dialog about a user')
      await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()

      await page.route('**/admin/**', (route) =>
        route.fulfill({ status: 401, json: { code: 'UNAUTHORIZED', message: 'no' } }),
      )
      await page.getByRole('link', { name: 'Fees', exact: true }).click()
      await page.getByText('no longer accepts the token').waitFor()
      await check('refused token')
      expect(found).toEqual({})
      await page.close()
    }, 120_000)

    test('the menu of a wallet', async () => {
      const page = await browser.openPage(`${world.gateway.url}/console/`)
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' })
      const { found, check } = createCheck(page)
      await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Test wallet' }).waitFor()
      await check('wallets')
      await page.getByRole('dialog').getByRole('button', { name: 'Test wallet' }).click()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
      await page.getByRole('banner').getByRole('button', { name: /0x/ }).click()
      await page.getByRole('menuitem', { name: 'Disconnect' }).waitFor()
      await check('menu of the wallet')
      await page.getByRole('menuitem', { name: 'Disconnect' }).click()
      // The browser forgets the wallet only then, and the next scheme begins without one.
      await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).waitFor()
      expect(found).toEqual({})
      await page.close()
    }, 120_000)
  })

  test('a page that fails has a main part, and its text scrolls by keyboard', async () => {
    const failing = await openConsole()
    const page = await merchantPages(failing, world.facilitator.url).signUp()
    await page.route('**/api/v1/webhooks', (route) => route.fulfill({ json: { data: [{ id: '1' }] } }))
    await goTo(page, 'Webhooks')
    await page.getByRole('heading', { name: 'This page has failed' }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await failing.close()
  })

  test('on 360 pixels the pages open as a drawer that Escape closes, and nothing covers the title', async () => {
    const page = await pages.signUp()
    await page.setViewportSize(SMALL)
    const menu = page.getByRole('button', { name: 'Menu' })
    await menu.click()
    await page.getByRole('link', { name: 'Settlements', exact: true }).waitFor()
    expect(await accessibilityProblems(page)).toEqual([])
    await page.keyboard.press('Escape')
    await page.getByRole('link', { name: 'Settlements', exact: true }).waitFor({ state: 'hidden' })
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('Menu')
    const [logo, account] = await Promise.all(
      [page.getByRole('link', { name: 'Tollgate' }), page.getByRole('button', { name: /^Account/ })].map(
        (one) => one.boundingBox(),
      ),
    )
    expect((logo?.x ?? 0) + (logo?.width ?? 0)).toBeLessThanOrEqual(account?.x ?? 0)
    expect(await overflowOf(page)).toBe(0)
    await page.setViewportSize(LARGE)
    await page.close()
  })
})
