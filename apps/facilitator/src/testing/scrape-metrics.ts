import { setTimeout as delay } from 'node:timers/promises'

const TIMEOUT_MS = 30_000

type Scrape = () => Promise<string>

/** The values of a metric by its labels, such as `network="base",state="signed"`. */
export async function figuresOf(scrape: Scrape, name: string): Promise<Record<string, number>> {
  const line = new RegExp(String.raw`^${name}(?:\{(.*)\})? (\S+)$`, 'gm')
  const found = (await scrape()).matchAll(line)
  return Object.fromEntries([...found].map(([, labels = '', value]) => [labels, Number(value)]))
}

export async function untilFigure(
  scrape: Scrape,
  name: string,
  labels: string,
  expected: number,
): Promise<void> {
  const deadline = performance.now() + TIMEOUT_MS
  for (;;) {
    const figures = await figuresOf(scrape, name)
    if (figures[labels] === expected) return
    if (performance.now() > deadline) throw new Error(`${name} is ${JSON.stringify(figures)}`)
    await delay(10)
  }
}
