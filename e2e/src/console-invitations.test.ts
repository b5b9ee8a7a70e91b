import { describeInBrowser } from '@tollgate/browser-testing'
import { type Page } from 'playwright-core'
import { layoutProblems, openConsole, type OpenConsole } from './testing/console-page'
import { goTo, PASSWORD } from './testing/merchant-pages'
import { startWorld, type World } from './testing/world'

describeInBrowser('invitations and password resets in the console of an operator', () => {
  let world: World
  let replica: { url: string }
  let browser: OpenConsole

  beforeAll(async () => {
    // The development network signs up at the first replica.
    const environment = (log: string) => (log === 'facilitator-2' ? { SIGN_UP: 'invitation' } : {})
    world = await startWorld({ overrides: { environment } })
    replica = await world.addFacilitator()
    browser = await openConsole()
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)

  const open = (path: string) => browser.openPage(`${replica.url}/console/#/${path}`)

  async function openAsOperator(name: string): Promise<Page> {
    const page = await open('operator')
    await page.getByLabel('Admin token').fill(world.secrets.adminToken)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await goTo(page, name)
    return page
  }

  const secretOf = async (page: Page): Promise<string> =>
    (await page.getByRole('status').locator('code').textContent()) ?? ''

  async function invite(page: Page, email: string): Promise<string> {
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Create an invitation' }).click()
    await page.getByText(`The invitation of ${email} is created`).waitFor()
    const code = await secretOf(page)
    await page.getByRole('button', { name: 'I have stored it' }).click()
    expect(await page.getByText(code).count()).toBe(0)
    return code
  }

  async function signUp(email: string, code: string): Promise<Page> {
    const page = await open('sign-up')
    await page.getByLabel('Invitation').fill(code)
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create the account' }).click()
    return page
  }

  test('an invitation, shown once, admits its email; a revoked one admits no user', async () => {
    const operator = await openAsOperator('Invitations')
    await operator.getByText('Sign-up is by invitation here.').waitFor()
    const code = await invite(operator, 'invited@shop.example')
    const revoked = await invite(operator, 'revoked@shop.example')
    const row = operator.getByRole('row').filter({ hasText: 'revoked@shop.example' })
    await row.getByRole('button', { name: /^Revoke invitation/ }).click()
    await operator.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
    await row.waitFor({ state: 'detached' })

    const refused = await signUp('revoked@shop.example', revoked)
    await refused.getByRole('alert').waitFor()
    await refused.close()
    const merchant = await signUp('invited@shop.example', code)
    await merchant.getByRole('heading', { name: 'Your first payment' }).waitFor()
    await merchant.close()

    await operator.reload()
    const used = operator.getByRole('row').filter({ hasText: 'invited@shop.example' })
    await used.getByText('used', { exact: true }).waitFor()
    expect(await used.getByRole('button', { name: /^Revoke/ }).count()).toBe(0)
    await operator.close()
  })

  test('a password reset is shown once, and sets a new password', async () => {
    const email = 'forgetful@shop.example'
    const operator = await openAsOperator('Invitations')
    await (await signUp(email, await invite(operator, email))).close()
    await goTo(operator, 'Users')
    await operator.getByLabel('Email begins with').fill(email)
    await operator.getByRole('button', { name: `Reset password of ${email}` }).click()
    await operator.getByRole('dialog').getByRole('button', { name: 'Reset password' }).click()
    await operator.getByRole('button', { name: 'Copy: Token' }).waitFor()
    const token = await secretOf(operator)
    await operator.getByRole('button', { name: 'I have stored it' }).click()
    expect(await operator.getByText(token).count()).toBe(0)
    await operator.close()

    const merchant = await open('reset')
    await merchant.getByLabel('Reset token').fill(token)
    await merchant.getByLabel('New password').fill('another horse and its staple')
    await merchant.getByRole('button', { name: 'Set the password' }).click()
    await merchant.getByText('The password is set. Sign in with it.').waitFor()
    await merchant.close()
  })

  test.each(['light', 'dark'] as const)(
    'breaks no rule of accessibility, and fits 360 pixels, %s',
    async (scheme) => {
      const page = await openAsOperator('Invitations')
      await page.emulateMedia({ colorScheme: scheme })
      await page.getByLabel('Email').fill(`${scheme}@shop.example`)
      await page.getByRole('button', { name: 'Create an invitation' }).click()
      await page.getByRole('status').locator('code').waitFor()
      await page.getByRole('table').getByText(`${scheme}@shop.example`).waitFor()
      expect(await layoutProblems(page, 'invitations')).toEqual({})
      await page.close()
    },
  )
})
