import { describeInBrowser } from '@tollgate/browser-testing'
import { Wallet } from 'ethers'
import { type Page } from 'playwright-core'
import { openConsole, type OpenConsole } from './testing/console-page'
import {
  createKey,
  goTo,
  merchantPages,
  type MerchantPages,
  newEmail,
  PASSWORD,
} from './testing/merchant-pages'
import { startWorld, type World } from './testing/world'

describeInBrowser('what a merchant entered or was shown once', () => {
  let world: World
  let browser: OpenConsole
  let pages: MerchantPages
  beforeAll(async () => {
    world = await startWorld()
    browser = await openConsole()
    pages = merchantPages(browser, world.facilitator.url)
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)

  afterEach(async () => {
    const last = await pages.open()
    await last.evaluate('localStorage.clear()')
    for (const page of browser.context.pages()) await page.close()
  })

  /** Two tabs of a session that outlives them. */
  async function openTwoTabs(email: string): Promise<[Page, Page]> {
    const first = await pages.signUp(email)
    await first.getByRole('button', { name: `Account of ${email}` }).click()
    await first.getByRole('menuitem', { name: 'Sign out' }).click()
    await first.getByLabel('Email').fill(email)
    await first.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await first.getByLabel('Keep me signed in on this device').check()
    await first.getByRole('button', { name: 'Sign in' }).click()
    await first.getByRole('heading', { name: 'Your first payment' }).waitFor()
    return [first, await pages.open('resources/new')]
  }

  const enterPassword = async (page: Page) => {
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Your session has ended').waitFor()
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
  }

  test('signing in again in one tab continues the other, with what was entered in its form', async () => {
    const email = newEmail()
    const [first, second] = await openTwoTabs(email)
    await second.getByLabel('Resource').fill('https://shop.example/kept')
    await second.getByRole('combobox', { name: 'Asset' }).click()
    await second.getByRole('option', { name: 'USDC on base-sepolia' }).click()
    await second.getByLabel('Recipient').fill(Wallet.createRandom().address)
    await pages.endSessions(email)
    await second.getByRole('button', { name: 'Register a resource' }).click()
    await second.getByRole('dialog').getByText('Your session has ended').waitFor()

    // Not by a click: a read of this tab may have shown the dialog already.
    await first.evaluate("location.hash = '#/resources'")
    await enterPassword(first)
    // The request that waited is sent, and the list is shown.
    await second.getByRole('link', { name: 'https://shop.example/kept' }).waitFor()
  })

  test('signing out in one tab signs the other one out', async () => {
    const email = newEmail()
    const [first, second] = await openTwoTabs(email)
    await first.getByRole('button', { name: `Account of ${email}` }).click()
    await first.getByRole('menuitem', { name: 'Sign out' }).click()
    await second.getByRole('heading', { name: 'Sign in' }).waitFor()
  })

  test('a secret that is shown once is not left without a question', async () => {
    const page = await pages.signUp()
    const { token } = await createKey(page, 'Shown once')
    /** What the page asks when `leave` is done, and then stays or is left. */
    async function asked(leave: () => Promise<unknown>, answer: 'accept' | 'dismiss'): Promise<string> {
      const asking = page.waitForEvent('dialog')
      const leaving = leave()
      const dialog = await asking
      await dialog[answer]()
      await leaving
      return dialog.message()
    }
    const QUESTION = 'Leave this page? What it shows cannot be shown again.'
    expect(await asked(() => goTo(page, 'Get paid'), 'dismiss')).toBe(QUESTION)
    expect(await asked(() => page.evaluate('history.back()'), 'dismiss')).toBe(QUESTION)
    await page.getByText(token).waitFor()
    expect(page.url()).toMatch(/#\/keys\/new$/)

    expect(await asked(() => goTo(page, 'Get paid'), 'accept')).toBe(QUESTION)
    await page.getByRole('heading', { name: 'Get paid' }).waitFor()
    await goTo(page, 'Webhooks')
    await page.getByRole('heading', { name: 'Webhooks' }).waitFor()
  })

  test('a key whose answer was lost is named, and not created a second time', async () => {
    const page = await pages.signUp()
    await goTo(page, 'Client keys')
    await page.getByRole('link', { name: 'Create a key' }).first().click()
    await page.getByLabel('Name').fill('Lost')
    await page.route('**/api/v1/clients', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      await route.fetch()
      return route.abort()
    })
    await page.getByRole('button', { name: 'Create the key' }).click()
    await page.getByRole('alert').getByText('A key named “Lost” was created').waitFor()
    await page.getByRole('alert').getByRole('link', { name: 'All client keys' }).click()
    await page.getByRole('table').getByText('Lost').waitFor()
  })
})
