import { describeInBrowser } from '@tollgate/browser-testing'
import { Wallet } from 'ethers'
import { type Page } from 'playwright-core'
import { layoutProblems, openConsole, type OpenConsole } from './testing/console-page'
import { settleRequest } from './testing/paying'
import { startWorld, walletAt, type World } from './testing/world'

const PAGES = ['Settlements', 'Signers', 'Networks', 'Fees', 'Assets', 'Users', 'Overview']

describeInBrowser('the console of an operator', () => {
  let world: World
  let browser: OpenConsole

  beforeAll(async () => {
    const environment = { SETTLE_TIMEOUT_SECONDS: '1', CONSOLE_EXPLORER_LINKS: 'true' }
    world = await startWorld({ overrides: { environment: () => environment } })
    browser = await openConsole()
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)

  async function signIn(token = world.secrets.adminToken): Promise<Page> {
    const page = await browser.openPage(`${world.facilitator.url}/console/#/operator`)
    await page.getByLabel('Admin token').fill(token)
    await page.getByRole('button', { name: 'Sign in' }).click()
    return page
  }

  test('a wrong token is refused, and opens nothing', async () => {
    const page = await signIn('wrong')
    await page.getByRole('alert').waitFor()
    expect(await page.getByRole('link', { name: 'Signers', exact: true }).count()).toBe(0)
    await page.close()
  })

  test('links to the public explorer of a network, if so configured', async () => {
    const page = await signIn()
    await page.getByRole('link', { name: 'Signers', exact: true }).click()
    const link = page.getByRole('link', { name: /^Open in the block explorer: 0x/ }).first()
    expect(await link.getAttribute('href')).toMatch(/^https:\/\/sepolia\.basescan\.org\/address\/0x/)
    await page.close()
  })

  test('shows a settlement that waits for its block, and retries it', async () => {
    const { anvil } = world.infrastructure
    const { clientId, token } = world.clientKey
    await anvil.setPace('stopped')
    const page = await signIn()
    try {
      const settling = await fetch(`${world.facilitator.url}/api/v1/settle`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'X-Client-ID': clientId, 'X-Client-Token': token },
        body: JSON.stringify(await settleRequest(walletAt(6), Wallet.createRandom().address, 20_000n)),
      })
      expect(await settling.json()).toMatchObject({ success: false, errorReason: 'settlement_pending' })
      await page.getByRole('link', { name: 'Settlements', exact: true }).click()
      await page.getByRole('table').getByText('It waits for a block').waitFor()
      await page.getByRole('table').getByRole('link').first().click()
      await page.getByRole('button', { name: 'Retry now' }).click()
      await page.getByText('Retried', { exact: true }).waitFor()
    } finally {
      await anvil.setPace('at-once')
    }
    await page.getByText('Nothing: it is settled').waitFor()
    await page.close()
  })

  test('disables a user and admits it again', async () => {
    const email = 'disabled@shop.example'
    await fetch(`${world.facilitator.url}/api/v1/signup`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password: 'correct horse battery' }),
    })
    const page = await signIn()
    await page.getByRole('link', { name: 'Users', exact: true }).click()
    await page.getByLabel('Email begins with').fill('disabled@')
    await page.getByRole('table').getByText(email).waitFor()
    for (const action of ['Disable', 'Enable']) {
      await page.getByRole('button', { name: `${action} ${email}` }).click()
      await page.getByRole('dialog').getByRole('button', { name: action, exact: true }).click()
      await page.getByRole('dialog').waitFor({ state: 'hidden' })
    }
    await page.getByRole('button', { name: `Disable ${email}` }).waitFor()
    await page.close()
  })

  test.each(['light', 'dark'] as const)(
    'breaks no rule of accessibility, and fits 360 pixels, %s',
    async (scheme) => {
      const page = await signIn()
      await page.emulateMedia({ colorScheme: scheme })
      const found: Record<string, unknown> = {}
      for (const name of PAGES) {
        await page.getByRole('link', { name, exact: true }).click()
        await page.getByRole('heading', { level: 1, name }).waitFor()
        await page.getByRole('status').filter({ hasText: 'Loading' }).waitFor({ state: 'hidden' })
        Object.assign(found, await layoutProblems(page, name))
      }
      expect(found).toEqual({})
      await page.close()
    },
  )
})
