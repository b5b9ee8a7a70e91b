import { launchBrowser } from '@tollgate/browser-testing'
import axe from 'axe-core'
import { type Page } from 'playwright-core'

/** Answers a request of the page's wallet, or rejects as its user would. */
export type AnswerRequest = (method: string, params: string[]) => unknown

/** Of one action of a page on a busy machine. */
const ACTION_TIMEOUT_MS = 60_000

/** A wallet that pages find by EIP-6963, and whose key is in Node. */
const ANNOUNCED_WALLET = `
const provider = {
  request: ({ method, params = [] }) => walletRequest(method, params),
  on: (event, listener) => window.addEventListener('test-wallet-changes', listener),
  removeListener: (event, listener) => window.removeEventListener('test-wallet-changes', listener),
}
const info = { uuid: '3f0c6a5e-7a1d-4a70-9a0e-51d1c1a7f0de', name: 'Test wallet', icon: 'data:image/svg+xml,', rdns: 'example.wallet' }
const announce = () =>
  window.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }))
window.addEventListener('eip6963:requestProvider', announce)
`

/** Opens pages of a console. `errors` are those that the pages wrote, or did not catch, but for refused requests. */
export async function openConsole(answer: AnswerRequest = () => undefined) {
  const walletRequest = (method: string, params: string[]) => answer(method, params)
  const browser = await launchBrowser({ functions: { walletRequest } })
  const { context } = browser
  context.setDefaultTimeout(ACTION_TIMEOUT_MS)
  await context.addInitScript(ANNOUNCED_WALLET)
  return {
    context,
    errors: () => browser.errors.filter((text) => !text.startsWith('Failed to load resource')),
    /** `script` runs before those of the page. */
    async openPage(url: string, { script }: { script?: string } = {}): Promise<Page> {
      const page = await context.newPage()
      if (script !== undefined) await page.addInitScript(script)
      await page.goto(url)
      await page.getByRole('heading', { level: 1 }).waitFor()
      return page
    },
    close: () => browser.close(),
  }
}

export type OpenConsole = Awaited<ReturnType<typeof openConsole>>

/** A browser whose user blocks the data of sites behaves so. */
export const BLOCKED_SITE_DATA = `
const refuse = () => { throw new DOMException('Access is denied for this document.', 'SecurityError') }
for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { get: refuse })
Object.defineProperty(IDBFactory.prototype, 'open', { value: refuse })
`

/** What axe finds in the page as it is: rule, and the elements that break it. */
export async function accessibilityProblems(page: Page): Promise<string[]> {
  // A tooltip is shown beside the landmarks of the page.
  await page.mouse.move(0, 0)
  await page.locator('[role=tooltip]').first().waitFor({ state: 'hidden' })
  await page.evaluate(axe.source)
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({
      runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
    }),
  )
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html.slice(0, 200)}`))
}

/** By how many pixels the page is wider than its window. */
export const overflowOf = (page: Page): Promise<number> =>
  page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')

/** The cells of every table of the page, in the columns of these titles, whose text is cut: title and text. */
export const cutCells = (page: Page, titles: readonly string[]): Promise<string[]> =>
  page.evaluate(`(() => {
  const titles = ${JSON.stringify(titles)}
  const isCut = (part) =>
    getComputedStyle(part).overflow !== 'visible' &&
    (part.scrollWidth > part.clientWidth || part.scrollHeight > part.clientHeight)
  return [...document.querySelectorAll('[role=table]')].flatMap((table) =>
    [...table.querySelectorAll('[role=row]')].flatMap((row) =>
      [...row.children].flatMap((cell, column) => {
        const title = table.querySelectorAll('[role=columnheader]')[column].textContent
        const parts = [cell, ...cell.querySelectorAll('*:not(svg, svg *)')]
        return titles.includes(title) && parts.some(isCut) ? [title + ': ' + cell.textContent] : []
      })))
})()`)

export const SMALL = { width: 360, height: 740 }
export const LARGE = { width: 1280, height: 860 }
export const WIDE = { width: 1440, height: 900 }

/** What axe finds in a page as it is, and whether it is wider than its window, at both sizes. */
export async function layoutProblems(page: Page, name: string): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {}
  for (const size of [LARGE, SMALL]) {
    await page.setViewportSize(size)
    const problems = await accessibilityProblems(page)
    const overflow = await overflowOf(page)
    if (problems.length > 0 || overflow > 0) found[`${name} at ${size.width}`] = { problems, overflow }
  }
  await page.setViewportSize(LARGE)
  return found
}
