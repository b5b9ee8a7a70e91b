import { setTimeout as delay } from 'node:timers/promises'

const PATIENCE_MS = 30_000

/** Reads all metrics, as Prometheus does. */
type Scrape = () => Promise<string>

/** The metric of this name now, by its labels as they are written: `network="base",state="signed"`. */
export async function figuresOf(scrape: Scrape, name: string): Promise<Record<string, number>> {
  const line = new RegExp(String.raw`^${name}(?:\{(.*)\})? (\S+)$`, 'gm')
  const found = (await scrape()).matchAll(line)
  return Object.fromEntries([...found].map(([, labels = '', value]) => [labels, Number(value)]))
}

/** Resolves once a figure is what it should be; rejects with what it is, where that takes too long. */
export async function untilFigure(
  scrape: Scrape,
  name: string,
  labels: string,
  wanted: number,
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  for (;;) {
    const figures = await figuresOf(scrape, name)
    if (figures[labels] === wanted) return
    if (performance.now() > deadline) throw new Error(`${name} is ${JSON.stringify(figures)}`)
    await delay(10)
  }
}
