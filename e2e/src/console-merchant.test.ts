import { describeInBrowser } from '@tollgate/browser-testing'
import { closeAll, startWebhookReceiver } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { type Page } from 'playwright-core'
import { type ClientKey } from './testing/client-keys'
import { BLOCKED_SITE_DATA, layoutProblems, openConsole, type OpenConsole } from './testing/console-page'
import {
  createKey,
  goTo,
  merchantPages,
  type MerchantPages,
  newEmail,
  PASSWORD,
} from './testing/merchant-pages'
import { settleRequest } from './testing/paying'
import { startWorld, walletAt, type World } from './testing/world'

const OTHER_PASSWORD = 'another horse and its staple'

describeInBrowser('the console of a merchant', () => {
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
    await closeAll()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)

  async function settle({ clientId, token }: ClientKey, amount: bigint): Promise<{ transaction: string }> {
    const request = await settleRequest(walletAt(5), Wallet.createRandom().address, amount)
    const answer = await fetch(`${world.facilitator.url}/api/v1/settle`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'X-Client-ID': clientId, 'X-Client-Token': token },
      body: JSON.stringify(request),
    })
    return (await answer.json()) as { transaction: string }
  }

  test('signs up, creates a key that is shown once, and sees the payment that it settles', async () => {
    const page = await pages.signUp()
    const key = await createKey(page, 'Weather shop')
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('table').getByText('Weather shop').waitFor()
    expect(await page.getByText(key.token).count()).toBe(0)

    const { transaction } = await settle(key, 12_345n)
    await goTo(page, 'Settlements')
    await page.getByRole('searchbox', { name: 'Search' }).fill(transaction)
    await page.getByRole('button', { name: 'Find' }).click()
    await page.getByRole('table').getByText('0.012345 USDC').waitFor()
    expect(page.url()).toContain(`#/settlements?transaction=${transaction}`)
    await page
      .getByRole('table')
      .getByRole('link', { name: /^Settlement/ })
      .click()
    for (const event of ['Claimed', 'Signed', 'Broadcast', 'Settled', 'Reported'])
      await page.getByRole('listitem').getByText(event, { exact: true }).waitFor()
    await page.getByText('https://shop.example/report').waitFor()

    await goTo(page, 'Overview')
    await page.getByRole('heading', { name: 'Income by day in USDC' }).waitFor()
    // A list of settlements has no payment that was refused before it was claimed.
    await page.getByText('those are only counted, and in no list').waitFor()
    expect(await page.getByRole('link', { name: 'Failed settlements' }).count()).toBe(0)
    expect(await page.getByRole('heading', { name: 'Your first payment' }).count()).toBe(0)
    await page.close()
  })

  test('a session that is ended elsewhere asks for the password, and loses no input', async () => {
    const email = newEmail()
    const page = await pages.signUp(email)
    await goTo(page, 'Client keys')
    await page.getByRole('link', { name: 'Create a key' }).first().click()
    await page.getByLabel('Name').fill('kept')

    await pages.endSessions(email)

    await page.getByRole('button', { name: 'Create the key' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Your session has ended').waitFor()
    await dialog.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await dialog.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('The key “kept” is created').waitFor()
    await page.close()
  })

  test('works in a browser that blocks site data', async () => {
    const page = await pages.signUp(newEmail(), { script: BLOCKED_SITE_DATA })
    await goTo(page, 'Settlements')
    await page.getByRole('heading', { level: 1, name: 'Settlements' }).waitFor()
    await page.close()
  })

  test('changes the password, signs out, and in again', async () => {
    const email = newEmail()
    const page = await pages.signUp(email)
    await goTo(page, 'Account')
    await page.getByRole('cell', { name: 'this one' }).waitFor()
    await page.getByLabel('Current password').fill('a guess')
    await page.getByLabel('New password').fill(OTHER_PASSWORD)
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('alert').getByText('The current password is wrong').waitFor()
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('The password is changed').waitFor()

    await page.getByRole('button', { name: `Account of ${email}` }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toContain(
      'token',
    )
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(OTHER_PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    // The address is kept.
    await page.getByRole('heading', { name: 'Sessions' }).waitFor()
    await page.close()
  })

  test('sends a test to a webhook, and the same delivery again', async () => {
    const receiver = await startWebhookReceiver()
    const page = await pages.signUp()
    await goTo(page, 'Webhooks')
    await page.getByRole('link', { name: 'Add an endpoint' }).first().click()
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByRole('button', { name: 'Add an endpoint' }).click()
    await page.getByText(/whsec_/).waitFor()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByRole('heading', { name: /^Delivery/ }).waitFor()
    await page.getByText('delivered', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Send again' }).click()
    await receiver.until(2)
    await page.getByRole('row').nth(2).waitFor()
    await page.close()
  })

  test('registers a resource, and finds it listed', async () => {
    const page = await pages.signUp()
    await goTo(page, 'Resources')
    await page.getByRole('link', { name: 'Register a resource' }).first().click()
    await page.getByLabel('Resource').fill('https://shop.example/maps')
    await page.getByRole('combobox', { name: 'Asset' }).click()
    await page.getByRole('option', { name: 'USDC on base-sepolia' }).click()
    await page.getByLabel('Price').fill('0.25')
    await page.getByLabel('Recipient').fill(Wallet.createRandom().address)
    await page.getByRole('button', { name: 'Register a resource' }).click()
    await page.getByRole('table').getByText('0.25 USDC').waitFor()
    await page.getByRole('link', { name: 'https://shop.example/maps' }).click()
    await page.getByRole('heading', { name: 'Proof of ownership' }).waitFor()
    await page.getByLabel('Price').fill('0.5')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The resource is saved').waitFor()
    await page.close()
  })

  test('gets no code for a price that is refused', async () => {
    const page = await pages.signUp()
    await goTo(page, 'Get paid')
    await page.getByRole('heading', { name: '1. Install' }).waitFor()
    await page.getByRole('textbox', { name: /^Price/ }).fill('1,000')
    await page.getByText('The code is shown once the price is right.').waitFor()
    expect(await page.getByRole('button', { name: /^Copy/ }).count()).toBe(0)
    await page.getByRole('textbox', { name: /^Price/ }).fill('1.5')
    await page.getByText("price: '$1.5'").first().waitFor()
    await page.close()
  })

  test('deletes the account, which cannot sign in again', async () => {
    const email = newEmail()
    const page = await pages.signUp(email)
    await goTo(page, 'Account')
    await page.getByRole('button', { name: 'Delete the account…' }).click()
    await page.getByRole('dialog').getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('dialog').getByRole('button', { name: 'Delete it' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByText('Wrong email or password').waitFor()
    await page.close()
  })

  test.each(['light', 'dark'] as const)(
    'breaks no rule of accessibility, and fits 360 pixels, %s',
    async (scheme) => {
      const found: Record<string, unknown> = {}
      const check = async (page: Page, name: string) => Object.assign(found, await layoutProblems(page, name))
      for (const name of ['', 'sign-up', 'reset']) {
        const outside = await pages.open(name)
        await outside.emulateMedia({ colorScheme: scheme })
        await outside.getByRole('textbox').first().waitFor()
        await check(outside, `/${name}`)
        await outside.close()
      }
      const page = await pages.signUp()
      await page.emulateMedia({ colorScheme: scheme })
      const key = await createKey(page, 'Shop')
      await check(page, 'secret')
      await settle(key, 10_000n)
      await page.getByRole('button', { name: 'I have stored it' }).click()
      await page.getByRole('table').waitFor()
      await check(page, 'keys')
      await goTo(page, 'Settlements')
      await page.getByRole('table').getByText('settled').waitFor()
      await check(page, 'settlements')
      await page
        .getByRole('table')
        .getByRole('link', { name: /^Settlement/ })
        .click()
      await page.getByRole('heading', { name: 'Timeline' }).waitFor()
      await check(page, 'settlement')
      const headings = {
        Overview: 'Income by day in USDC',
        'Get paid': '1. Install',
        Webhooks: 'Webhooks',
        Resources: 'Resources',
        Account: 'Sessions',
      }
      for (const [name, heading] of Object.entries(headings)) {
        await goTo(page, name)
        await page.getByRole('heading', { name: heading }).waitFor()
        await page.waitForLoadState('networkidle')
        await check(page, name)
      }
      expect(found).toEqual({})
      await page.close()
    },
  )
})
