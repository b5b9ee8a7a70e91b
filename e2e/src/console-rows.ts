import { type CDPSession, type Page } from 'playwright-core'
import { LARGE, openConsole } from './testing/console-page'
import { insertSettlements, readToEnd } from './testing/long-list'
import { createKey, goTo, merchantPages } from './testing/merchant-pages'
import { startWorld } from './testing/world'

/** `node e2e/dist/console-rows.js [ROWS]`: how the list of settlements behaves with 100,000 rows, all of them read in a browser. */

const FRAMES = 300

/** After a garbage collection. */
async function heapMiB(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage')
  const { usedSize } = await devtools.send('Runtime.getHeapUsage')
  return usedSize / 2 ** 20
}

type Scrolling = { rows: number; workMs: number[]; frameMs: number[] }

/** Scrolls by a screen in each frame, upwards from the end. `workMs`: from the scroll until the page has handled and painted it. */
const scroll = (page: Page): Promise<Scrolling> =>
  page.evaluate(`(async () => {
    const list = document.querySelector('.rows')
    const frame = () => new Promise(requestAnimationFrame)
    const painted = () => new Promise((resolve) => {
      const { port1, port2 } = new MessageChannel()
      port1.onmessage = resolve
      port2.postMessage(0)
    })
    const workMs = [], frameMs = []
    let rows = 0
    let before = await frame()
    for (let count = 0; count < ${FRAMES}; count++) {
      list.scrollTop -= list.clientHeight
      const now = await frame()
      const begun = performance.now()
      await painted()
      workMs.push(performance.now() - begun)
      frameMs.push(now - before)
      before = now
      rows = Math.max(rows, list.querySelectorAll('[role=row]').length)
    }
    return { rows, workMs, frameMs }
  })()`)

const quantile = (values: readonly number[], part: number): string => {
  const sorted = values.toSorted((one, other) => one - other)
  return (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0).toFixed(1)
}

const spread = (values: readonly number[]) =>
  `median ${quantile(values, 0.5)}, p95 ${quantile(values, 0.95)}, highest ${quantile(values, 1)}`

function print(name: string, value: string) {
  process.stdout.write(`${name.padEnd(34)} ${value}\n`)
}

async function main() {
  const count = Number(process.argv[2] ?? 100_000)
  const world = await startWorld()
  const browser = await openConsole()
  try {
    const page = await merchantPages(browser, world.facilitator.url).signUp('rows@shop.example')
    await page.setViewportSize(LARGE)
    const { clientId } = await createKey(page, 'Shop')
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await insertSettlements(world, clientId, count)
    const devtools = await browser.context.newCDPSession(page)
    await goTo(page, 'Settlements')
    await page.getByRole('table').getByText('0.000001 USDC').waitFor()
    print('heap with one page of 200 rows', `${(await heapMiB(devtools)).toFixed(1)} MiB`)
    const begun = performance.now()
    const most = await readToEnd(page)
    print(`time to read ${count} rows`, `${((performance.now() - begun) / 1000).toFixed(1)} s`)
    print('most rows in the document', String(most))
    print(`heap with ${count} rows`, `${(await heapMiB(devtools)).toFixed(1)} MiB`)
    const { rows, workMs, frameMs } = await scroll(page)
    print('most rows while scrolling', String(rows))
    print('work of a scrolled screen, ms', spread(workMs))
    print('between two frames, ms', spread(frameMs))
  } finally {
    await browser.close()
    await world.stop()
  }
}

void main()
