import { closeAll, startWebhookReceiver } from '@tollgate/testing'
import { Wallet } from 'ethers'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { type Page } from 'playwright-core'
import { LARGE, openConsole, type OpenConsole } from './testing/console-page'
import { settleRequest } from './testing/paying'
import { answerAsWallet } from './testing/wallet-page'
import { root, startWorld, walletAt, type World } from './testing/world'

/**
 * `node e2e/dist/console-pictures.js [VIEW...]`: writes a picture of each page of the console (of the views buyer, merchant and
 * operator, if named), in light and dark, to docs/console. On a new development network, with real payments.
 */

const PASSWORD = 'correct horse battery'
const BUYER_PAGES = ['Overview', 'Plans', 'Playground', 'Calls', 'Payments']
const MERCHANT_PAGES = [
  'Overview',
  'Settlements',
  'Client keys',
  'Recipients',
  'Get paid',
  'Webhooks',
  'Resources',
  'Account',
]
const OPERATOR_PAGES = [
  'Overview',
  'Settlements',
  'Signers',
  'Networks',
  'Fees',
  'Assets',
  'Users',
  'Invitations',
]
const DECIMALS = 1_000_000
/** Of transitions of colours. */
const SETTLE_MS = 600

const folder = join(root, 'docs/console')

async function picture(page: Page, name: string) {
  await page.getByRole('status').filter({ hasText: 'Loading' }).first().waitFor({ state: 'hidden' })
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    await page.mouse.move(0, 0)
    await page.waitForTimeout(SETTLE_MS)
    await page.screenshot({ path: join(folder, `${name}.${colorScheme}.png`) })
  }
  await page.emulateMedia({ colorScheme: 'light' })
  process.stdout.write(`${name}\n`)
}

const fileName = (view: string, page: string) => `${view}-${page.toLowerCase().replaceAll(' ', '-')}`

async function open(browser: OpenConsole, url: string): Promise<Page> {
  const page = await browser.openPage(url)
  await page.setViewportSize(LARGE)
  return page
}

async function picturesOf(page: Page, view: string, pages: readonly string[]) {
  for (const name of pages) {
    await page.getByRole('link', { name, exact: true }).first().click()
    await page.getByRole('heading', { level: 1 }).waitFor()
    await picture(page, fileName(view, name))
  }
}

async function buyer(browser: OpenConsole, world: World) {
  const page = await open(browser, `${world.gateway.url}/console/#/plans`)
  await page.getByRole('banner').getByRole('button', { name: 'Connect a wallet' }).click()
  await page.getByRole('button', { name: 'Development wallet' }).click()
  await page.getByRole('dialog').waitFor({ state: 'hidden' })
  await page.getByRole('button', { name: /^Buy 100 credits of Base/ }).click()
  await page.getByText('You have bought 100 credits.').waitFor()
  await picture(page, 'buyer-purchase')
  await page.getByRole('link', { name: 'Try a call' }).click()
  for (const method of [
    'eth_gasPrice',
    'eth_chainId',
    'eth_getBlockByNumber',
    'eth_gasPrice',
    'eth_blockNumber',
  ]) {
    await page.getByRole('combobox', { name: 'Method' }).fill(method)
    await page.getByRole('button', { name: 'Run' }).click()
    await page.getByRole('button', { name: 'Run' }).and(page.locator(':not([data-loading])')).waitFor()
    await page.getByText(/credits? charged/).waitFor()
  }
  await picture(page, 'buyer-answer')
  await page.getByRole('link', { name: 'Plans', exact: true }).click()
  await page.getByRole('button', { name: 'Close', exact: true }).click()
  await picturesOf(page, 'buyer', BUYER_PAGES)
  await page.getByRole('link', { name: 'Payments', exact: true }).click()
  await page.getByRole('table').getByRole('link').first().click()
  await page.getByRole('heading', { name: 'Steps' }).waitFor()
  await picture(page, 'buyer-payment')
  await page.getByRole('link', { name: 'Access keys', exact: true }).click()
  await page.getByLabel('Label').fill('Block explorer')
  await page.getByLabel('Credits a day').fill('500')
  await page.getByRole('button', { name: 'Create the key' }).click()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await picture(page, 'buyer-access-keys')
  await buyerWebhook(page)
}

async function buyerWebhook(page: Page) {
  const receiver = await startWebhookReceiver()
  await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
  await page.getByRole('link', { name: 'Add an endpoint' }).first().click()
  await page.getByLabel('URL').fill(receiver.url)
  await page.getByRole('button', { name: 'Add an endpoint' }).click()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  await page.getByRole('link', { name: 'Plans', exact: true }).click()
  await page.getByRole('button', { name: /^Buy 100 credits of Base/ }).click()
  await receiver.until(2)
  await page.getByRole('link', { name: 'Webhooks', exact: true }).click()
  await page.getByRole('link', { name: receiver.url }).click()
  await page
    .getByRole('table')
    .getByRole('link', { name: /^Delivery/ })
    .first()
    .waitFor()
  await picture(page, 'buyer-webhooks')
}

async function merchant(browser: OpenConsole, world: World) {
  const page = await open(browser, `${world.facilitator.url}/console/#/sign-up`)
  await picture(page, 'merchant-sign-up')
  await page.getByLabel('Email').fill('weather@shop.example')
  await page.getByLabel('New password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Create the account' }).click()
  await page.getByRole('heading', { name: 'Your first payment' }).waitFor()
  await picture(page, 'merchant-first-steps')
  await page.getByRole('link', { name: 'Client keys', exact: true }).first().click()
  await page.getByRole('link', { name: 'Create a key' }).first().click()
  await page.getByLabel('Name').fill('Weather shop')
  await page.getByRole('button', { name: 'Create the key' }).click()
  const secrets = page.getByRole('status').locator('code')
  await secrets.first().waitFor()
  const [clientId = '', token = ''] = await secrets.allTextContents()
  await page.getByRole('button', { name: 'I have stored it' }).click()
  const shop = Wallet.createRandom().address
  for (const [buyerAt, price] of [0.5, 0.25, 1.2, 0.01, 2].entries())
    await settle(world, { clientId, token }, walletAt(buyerAt), shop, BigInt(price * DECIMALS))
  // More than the wallet holds.
  await settle(world, { clientId, token }, Wallet.createRandom(), shop, 10_000n)
  await page.reload()
  await page.getByRole('link', { name: 'Overview', exact: true }).first().click()
  await page.getByRole('heading', { name: 'Income by day in USDC' }).waitFor()
  await reserve(page)
  await picturesOf(page, 'merchant', MERCHANT_PAGES)
  await page.getByRole('link', { name: 'Settlements', exact: true }).first().click()
  await page
    .getByRole('table')
    .getByRole('link', { name: /^Settlement/ })
    .first()
    .click()
  await page.getByRole('heading', { name: 'Timeline' }).waitFor()
  await picture(page, 'merchant-settlement')
}

/** Reserves the address of the announced wallet. */
async function reserve(page: Page) {
  await page.getByRole('link', { name: 'Recipients', exact: true }).first().click()
  await page.getByRole('link', { name: 'Reserve a recipient' }).first().click()
  await page.getByRole('textbox', { name: 'Address', exact: true }).fill(walletAt(7).address)
  await page.getByRole('button', { name: 'Get the text to sign' }).click()
  await page.getByRole('textbox', { name: 'Signature, in hex' }).waitFor()
  await picture(page, 'merchant-reserve-recipient')
  await page.getByRole('button', { name: 'Reserve the address of Test wallet' }).click()
  await page.getByRole('table').getByText('by its signature').waitFor()
  await page.getByText('is reserved').waitFor({ state: 'hidden' })
}

async function settle(
  world: World,
  key: { clientId: string; token: string },
  payer: { privateKey: string },
  payTo: string,
  amount: bigint,
) {
  await fetch(`${world.facilitator.url}/api/v1/settle`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'X-Client-ID': key.clientId, 'X-Client-Token': key.token },
    body: JSON.stringify(await settleRequest(payer, payTo, amount)),
  })
}

async function operator(browser: OpenConsole, world: World) {
  const page = await open(browser, `${world.facilitator.url}/console/#/operator`)
  await page.getByLabel('Admin token').fill(world.secrets.adminToken)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.getByRole('link', { name: 'Signers', exact: true }).waitFor()
  const { anvil } = world.infrastructure
  await anvil.setPace('stopped')
  void settle(world, world.clientKey, walletAt(6), Wallet.createRandom().address, 20_000n)
  await page.getByRole('link', { name: 'Invitations', exact: true }).click()
  for (const email of ['maps@shop.example', 'news@shop.example']) {
    await page.getByLabel('Email').fill(email)
    await page.getByRole('button', { name: 'Create an invitation' }).click()
    await page.getByRole('table').getByText(email).waitFor()
    await page.getByRole('button', { name: 'I have stored it' }).click()
  }
  await page.getByRole('link', { name: 'Settlements', exact: true }).click()
  await page.getByRole('table').getByText('It waits for a block').waitFor()
  await page.getByRole('link', { name: 'Overview', exact: true }).click()
  await page.getByText('open settlement', { exact: true }).waitFor()
  await picturesOf(page, 'operator', OPERATOR_PAGES)
  await page.getByRole('link', { name: 'Settlements', exact: true }).click()
  await page.getByRole('table').getByRole('link').first().click()
  await page.getByRole('button', { name: 'Retry now' }).waitFor()
  await picture(page, 'operator-settlement')
  await anvil.setPace('at-once')
}

async function main() {
  mkdirSync(folder, { recursive: true })
  const world = await startWorld()
  const shop = Wallet.createRandom()
  const browser = await openConsole((method, params) =>
    method === 'eth_accounts' ? [] : answerAsWallet(shop, method, params),
  )
  const chosen = process.argv.slice(2)
  try {
    for (const [name, draw] of Object.entries({ buyer, merchant, operator }))
      if (chosen.length === 0 || chosen.includes(name)) await draw(browser, world)
  } finally {
    await browser.close()
    await world.stop()
    await closeAll()
  }
}

void main()
