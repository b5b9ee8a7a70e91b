import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Page } from 'playwright-core'
import { describeInBrowser, INSECURE_HOST, openBrowser, type TestBrowser } from '../testing/browser.js'
import { type browserStorage as BrowserStorage } from './browser-storage.js'
import { guarantees } from './testing/guarantees.js'

type Exports = { browserStorage: typeof BrowserStorage; guarantees: typeof guarantees }
declare const window: Exports

const entry = join(__dirname, 'testing', 'browser-entry.ts')

describeInBrowser('browserStorage', () => {
  let browser: TestBrowser
  beforeAll(async () => {
    browser = await openBrowser({ entry })
  })
  afterAll(() => browser.close())
  afterEach(() => expect(browser.errors.splice(0)).toEqual([]))

  test.each(guarantees)('$name', async ({ name, expected }) => {
    const page = await browser.openPage()
    const result = await page.evaluate(
      (wanted) =>
        window.guarantees
          .find((guarantee) => guarantee.name === wanted)!
          .run(() => window.browserStorage(wanted)),
      name,
    )
    expect(result).toEqual(expected)
    await page.close()
  })

  test('of four tabs, in four processes, that create each of 300 keys at one moment, one wins each', async () => {
    const tabs = await Promise.all(Array.from({ length: 4 }, () => browser.openPage()))
    const renderers = (await browser.processes()).filter(({ type }) => type === 'renderer')
    expect(renderers.length).toBeGreaterThanOrEqual(4)
    const startsAt = Date.now() + 500
    const won = await Promise.all(tabs.map((tab, index) => tab.evaluate(createAtOnce, { startsAt, index })))
    const winners = Array.from({ length: 300 }, (_, key) =>
      won.flatMap((keys, tab) => (keys.includes(key) ? [tab] : [])),
    )
    expect(winners.filter((tab) => tab.length !== 1)).toEqual([])
    const values = await tabs[0]!.evaluate(() => {
      const storage = window.browserStorage('race')
      return Promise.all(Array.from({ length: 300 }, (_, key) => storage.get(`key/${key}`)))
    })
    expect(values).toEqual(winners.map(([tab]) => `of tab ${tab}`))
    await Promise.all(tabs.map((tab) => tab.close()))
  })

  test('locks exclude other tabs, and a closed tab frees its own', async () => {
    const [holder, waiter] = [await browser.openPage(), await browser.openPage()]
    await holder.evaluate(holdForever)
    expect(await waiter.evaluate(tryName)).toBeUndefined()
    const waiting = waiter.evaluate(() =>
      window.browserStorage('locks').lock('name', () => Promise.resolve('got it')),
    )
    await untilQueued(waiter)
    await holder.close()
    expect(await waiting).toBe('got it')
    expect(await waiter.evaluate(tryName)).toBe('got it')
    await waiter.close()
  })

  test('a page that is not secure keeps values, and says what its locks need', async () => {
    const page = await browser.openPage(INSECURE_HOST)
    const result = await page.evaluate(async () => {
      const storage = window.browserStorage()
      await storage.set('a', '1')
      const failure = (error: { code: string; message: string }) => [error.code, error.message]
      return [
        await storage.get('a'),
        await storage.lock('name', () => Promise.resolve()).catch(failure),
        await storage.tryLock('name', () => Promise.resolve()).catch(failure),
      ]
    })
    const failure = [
      'STORAGE_FAILED',
      'This page has no Web Locks. Open it over https, or give `storage: memoryStorage()`.',
    ]
    expect(result).toEqual(['1', failure, failure])
    await page.close()
  })

  test('a page without storage of its own says what to do', async () => {
    const page = await browser.openPage()
    await page.setContent(`<iframe sandbox="allow-scripts" src="${browser.url}"></iframe>`)
    const frame = page.frames()[1]!
    await frame.waitForFunction(() => 'browserStorage' in window)
    const failures = await frame.evaluate(async () => {
      const storage = window.browserStorage()
      const failure = (error: { code: string; message: string }) => [error.code, error.message]
      return Promise.all([
        storage.get('a').catch(failure),
        storage.create('a', 'secret').catch(failure),
        storage.list('').catch(failure),
        storage.lock('a', () => Promise.resolve()).catch(failure),
      ])
    })
    const failure = [
      'STORAGE_FAILED',
      'The browser did not let this page use its storage. Allow site data for it, leave the private window, or give `storage: memoryStorage()`.',
    ]
    expect(failures).toEqual([failure, failure, failure, failure])
    await page.close()
  })

  test('after the user deleted the site data it works on', async () => {
    const page = await browser.openPage()
    const result = await page.evaluate(async () => {
      const storage = window.browserStorage('deleted')
      await storage.set('a', '1')
      const request = indexedDB.deleteDatabase('deleted')
      await new Promise((resolve) => (request.onsuccess = resolve))
      return [await storage.get('a'), await storage.create('a', '2'), await storage.get('a')]
    })
    expect(result).toEqual([undefined, true, '2'])
    await page.close()
  })
})

describeInBrowser('browserStorage after kill -9 of the whole browser', () => {
  test('has each value whose create or set had resolved', async () => {
    const profile = mkdtempSync(join(tmpdir(), 'wallet-browser-'))
    try {
      const before = await openBrowser({ entry, profile })
      const page = await before.openPage()
      await page.evaluate(async () => {
        const storage = window.browserStorage()
        await storage.create('created', '1')
        await storage.create('set', 'old')
        await storage.set('set', 'new')
      })
      await before.kill()
      await before.close()
      const after = await openBrowser({ entry, profile, port: before.port })
      const restored = await after.openPage()
      const values = await restored.evaluate(() =>
        Promise.all(['created', 'set'].map((key) => window.browserStorage().get(key))),
      )
      expect(values).toEqual(['1', 'new'])
      await after.close()
    } finally {
      rmSync(profile, { recursive: true, force: true })
    }
  })
})

/** Runs in a page. Tabs agree on the moment of each key, or each would win what it reaches first. */
async function createAtOnce({ startsAt, index }: { startsAt: number; index: number }) {
  const tick = () =>
    new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = () => {
        port1.close()
        resolve(undefined)
      }
      port2.postMessage(0)
    })
  const storage = window.browserStorage('race')
  const won: number[] = []
  for (let key = 0; key < 300; key++) {
    while (Date.now() < startsAt + key * 15) await tick()
    if (await storage.create(`key/${key}`, `of tab ${index}`)) won.push(key)
  }
  return won
}

/** Runs in a page. */
function holdForever() {
  return new Promise<void>((held) => {
    void window.browserStorage('locks').lock('name', () => {
      held()
      return new Promise(() => {})
    })
  })
}

/** Runs in a page. */
function tryName() {
  return window.browserStorage('locks').tryLock('name', () => Promise.resolve('got it'))
}

const untilQueued = (page: Page) =>
  page.waitForFunction(async () => ((await navigator.locks.query()).pending ?? []).length > 0)
