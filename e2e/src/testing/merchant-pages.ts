import { type Page } from 'playwright-core'
import { type ClientKey } from './client-keys'
import { type OpenConsole } from './console-page'

export const PASSWORD = 'correct horse battery staple'

let accounts = 0
export const newEmail = () => `console-${++accounts}@example.com`

export const goTo = (page: Page, name: string) =>
  page.getByRole('link', { name, exact: true }).first().click()

/** The pages of merchants at the facilitator of `url`. */
export function merchantPages(browser: OpenConsole, url: string) {
  const open = (path = '', options?: { script: string }) =>
    browser.openPage(`${url}/console/#/${path}`, options)
  return {
    open,

    /** A page of a new account, signed in. */
    async signUp(email = newEmail(), options?: { script: string }): Promise<Page> {
      const page = await open('sign-up', options)
      await page.getByLabel('Email').fill(email)
      await page.getByLabel('New password').fill(PASSWORD)
      await page.getByRole('button', { name: 'Create the account' }).click()
      await page.getByRole('heading', { name: 'Your first payment' }).waitFor()
      return page
    },

    /** Signs in as in another browser, and ends all other sessions. */
    async endSessions(email: string) {
      const login = { method: 'POST', headers: { 'content-type': 'application/json' } }
      const body = JSON.stringify({ email, password: PASSWORD })
      const answer = await fetch(`${url}/api/v1/login`, { ...login, body })
      const { data } = (await answer.json()) as { data: { access_token: string } }
      const authorization = `Bearer ${data.access_token}`
      await fetch(`${url}/api/v1/sessions`, { method: 'DELETE', headers: { authorization } })
    },
  }
}

export type MerchantPages = ReturnType<typeof merchantPages>

/** Leaves the secret of the key shown. */
export async function createKey(page: Page, name: string): Promise<ClientKey> {
  await goTo(page, 'Client keys')
  await page.getByRole('link', { name: 'Create a key' }).first().click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Create the key' }).click()
  const secrets = page.getByRole('status').locator('code')
  await secrets.first().waitFor()
  const [clientId = '', token = ''] = await secrets.allTextContents()
  return { clientId, token }
}
