import { describeInBrowser } from '@tollgate/browser-testing'
import { openFacilitatorDatabase } from '@tollgate/database'
import { Wallet } from 'ethers'
import { type Page } from 'playwright-core'
import {
  BLOCKED_SITE_DATA,
  cutCells,
  layoutProblems,
  openConsole,
  type OpenConsole,
  SMALL,
  WIDE,
} from './testing/console-page'
import { settleRequest } from './testing/paying'
import { startWorld, walletAt, type World } from './testing/world'

/** The columns that an operator needs, in each table. */
const VITAL = [
  ...['Id', 'State', 'Claimed', 'Amount', 'Next', 'Payer', 'Transaction'],
  ...['Address', 'Balance', 'Warns below', 'Pending', 'Email', 'Keys', 'Actions'],
]
const PAYER = walletAt(6).address

const TABLES = ['settlements', 'settlements?state=settled', 'signers', 'assets', 'users']

/** A settlement of a network that no settler has, so that it stays as it is: stuck, and accepted by no node. */
const STUCK_SETTLEMENT = `
WITH other AS (
  INSERT INTO assets (network, asset, symbol, decimals)
  SELECT 'optimism-sepolia', asset, symbol, decimals FROM assets WHERE network = 'base-sepolia' LIMIT 1
  RETURNING network, asset
), sent AS (
  INSERT INTO transactions (network, signer, nonce, raw, hash, status)
  VALUES ('optimism-sepolia', '0x1', 7, 'raw', '0x' || repeat('5e', 32), 'signed') RETURNING id, hash
)
INSERT INTO settlements (network, asset, payer, nonce, pay_to, amount, client_id, request_hash, payload, status,
  transaction_id, transaction_hash, last_error, created_at)
SELECT other.network, other.asset, payer, nonce, pay_to, 1234567890000, client_id, request_hash, '{}', 'signed',
  sent.id, sent.hash, 'no node of the network answered within its time', now() - INTERVAL '11 minutes'
FROM settlements CROSS JOIN other CROSS JOIN sent WHERE status = 'settled' LIMIT 1`

const PAGES = ['Settlements', 'Signers', 'Networks', 'Fees', 'Assets', 'Users', 'Overview']

describeInBrowser('the console of an operator', () => {
  let world: World
  let browser: OpenConsole
  let database: ReturnType<typeof openFacilitatorDatabase>

  beforeAll(async () => {
    const environment = { SETTLE_TIMEOUT_SECONDS: '1', CONSOLE_EXPLORER_LINKS: 'true' }
    world = await startWorld({ overrides: { environment: () => environment } })
    database = openFacilitatorDatabase({ url: world.infrastructure.postgres.facilitator, poolSize: 1 })
    browser = await openConsole()
  }, 120_000)
  afterAll(async () => {
    await database.close()
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)

  async function signIn(token = world.secrets.adminToken, options?: { script: string }): Promise<Page> {
    const page = await browser.openPage(`${world.facilitator.url}/console/#/operator`, options)
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

  test('works in a browser that blocks site data', async () => {
    const page = await signIn(undefined, { script: BLOCKED_SITE_DATA })
    await page.getByText('stuck settlements').waitFor()
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

  test('finds a settled payment by its hash, its payer and its id, and from the overview', async () => {
    const page = await signIn()
    await page.getByRole('link', { name: 'Settlements', exact: true }).click()
    const find = async (text: string) => {
      await page.getByRole('searchbox', { name: 'Find a settlement' }).fill(text)
      await page.getByRole('button', { name: 'Find', exact: true }).click()
    }
    const rows = page.getByRole('table').getByRole('row').filter({ hasText: 'settled' })
    await find(PAYER)
    await rows.first().waitFor()
    const [id, hash] = await newestSettlement()
    await find(Wallet.createRandom().address)
    await page.getByText('It is only counted').waitFor()
    await find(hash)
    await rows.getByRole('link', { name: id, exact: true }).waitFor()
    expect(await rows.count()).toBe(1)
    await find(id)
    await page.getByRole('heading', { name: `Settlement ${id}` }).waitFor()

    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('link', { name: 'settled in 24 hours' }).click()
    await rows.getByRole('link', { name: id, exact: true }).waitFor()
    await page.getByRole('link', { name: 'Overview', exact: true }).click()
    await page.getByRole('link', { name: 'failed in 24 hours' }).click()
    await page.getByText('No settlement matches').waitFor()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await page.getByText('No open settlement').waitFor()
    await page.close()
  })

  async function newestSettlement(): Promise<[id: string, hash: string]> {
    const { rows } = await database.pool.query<{ id: bigint; hash: string }>(
      'SELECT id, transaction_hash AS hash FROM settlements WHERE payer = $1 ORDER BY id DESC LIMIT 1',
      [PAYER],
    )
    return [String(rows[0]!.id), rows[0]!.hash]
  }

  test('cuts no vital column of a table, at 1440 and at 360 pixels', async () => {
    await database.pool.query(STUCK_SETTLEMENT)
    const page = await signIn()
    const found: Record<string, string[]> = {}
    for (const size of [WIDE, SMALL]) {
      for (const path of TABLES) {
        await page.setViewportSize(size)
        await page.goto(`${world.facilitator.url}/console/#/operator/${path}`)
        await page.getByRole('table').getByRole('cell').first().waitFor()
        const cut = await cutCells(page, VITAL)
        if (cut.length > 0) found[`${path} at ${size.width}`] = cut
      }
    }
    expect(found).toEqual({})
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
