import { type Page } from 'playwright-core'
import { type ClientKey } from './client-keys'
import { type OpenConsole } from './console-page'

export const MERCHANT_PASSWORD = 'correct horse battery staple'

/** A page of a new account, signed in. `consoleUrl`: the facilitator's. */
export async function signUpMerchant(browser: OpenConsole, consoleUrl: string, email: string): Promise<Page> {
  const page = await browser.openPage(`${consoleUrl}#/sign-up`)
  await page.getByLabel('Email').fill(email)
  await page.getByLabel('New password').fill(MERCHANT_PASSWORD)
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByRole('heading', { name: 'Your first payment' }).waitFor()
  return page
}

/** A link of the navigation. */
export const goTo = (page: Page, name: string) =>
  page.getByRole('link', { name, exact: true }).first().click()

/** Leaves the page with the secrets of the new key, which are shown once. */
export async function createClientKey(page: Page, name: string): Promise<ClientKey> {
  await goTo(page, 'Client keys')
  await page.getByRole('link', { name: 'Create a key' }).first().click()
  await page.getByLabel('Name').fill(name)
  await page.getByRole('button', { name: 'Create the key' }).click()
  const secrets = page.getByRole('status').locator('code')
  await secrets.first().waitFor()
  const [clientId = '', token = ''] = await secrets.allTextContents()
  return { clientId, token }
}
