import { describeInBrowser } from '@tollgate/browser-testing'
import { openConsole, type OpenConsole } from './testing/console-page'
import { insertSettlements, readToEnd } from './testing/long-list'
import { createKey, goTo, merchantPages } from './testing/merchant-pages'
import { startWorld, type World } from './testing/world'

const ROWS = 3_000
/** What fits in sight, those that are prepared above and below, and the head. */
const MOST_IN_DOCUMENT = 60

describeInBrowser('a long list of the console', () => {
  let world: World
  let browser: OpenConsole
  beforeAll(async () => {
    world = await startWorld()
    browser = await openConsole()
  }, 120_000)
  afterAll(async () => {
    const errors = browser.errors()
    await browser.close()
    await world.stop()
    expect(errors).toEqual([])
  }, 30_000)

  test('is read while it is scrolled, and has only the rows in sight in the document', async () => {
    const page = await merchantPages(browser, world.facilitator.url).signUp('rows@shop.example')
    const { clientId } = await createKey(page, 'Shop')
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await insertSettlements(world, clientId, ROWS)
    await goTo(page, 'Settlements')
    const table = page.getByRole('table')
    await table.getByText('0.000001 USDC').waitFor()

    // A page that cannot be read is not the end of the list.
    await page.route(/settlements\?.*cursor/, (route) => route.abort())
    await page.getByRole('button', { name: /^Load more/ }).click()
    const retry = page.getByRole('alert').getByRole('button', { name: 'Try again' })
    await retry.waitFor()
    await page.getByText('200 rows', { exact: true }).waitFor()
    await page.unroute(/settlements\?.*cursor/)
    await retry.click()
    await retry.waitFor({ state: 'hidden' })

    const most = await readToEnd(page)
    expect(most).toBeGreaterThan(10)
    expect(most).toBeLessThanOrEqual(MOST_IN_DOCUMENT)
    await page.getByText('All 3,000 rows').waitFor()

    await table.focus()
    await page.keyboard.press('End')
    await table.getByText('0.003 USDC').waitFor()
    await page.keyboard.press('Home')
    await table.getByText('0.000001 USDC').waitFor()
    expect(await table.getByRole('row').count()).toBeLessThanOrEqual(MOST_IN_DOCUMENT)
    await page.close()
  })
})
