import { launchBrowser } from '@tollgate/browser-testing'
import { closeAll } from '@tollgate/testing'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { root, startWorld } from '../testing/world'
import { drawDashboard, type DrawnPanel } from './draw-dashboard'
import { startLoad } from './load'
import { SCRAPE_SECONDS, startPrometheus, type Prometheus } from './prometheus'
import { panelsOf, rules, services, withInterval, type Panel } from './rules-and-dashboards'

const USAGE = `Usage: node e2e/dist/monitoring/prove.js [--seconds N] [--pictures FOLDER]

Starts both services as npm start does, load on them (calls, 402s, payments, webhooks, an upstream that fails), and a real Prometheus
that scrapes them with the rules of deploy/monitoring. Then runs the query of every panel, and every alert without its comparison, and
says which have no data. Draws the panels of each dashboard from the answers. Exits with 1 if a query fails or a panel is empty.

  --seconds N        how long the load runs before the queries (120)
  --pictures FOLDER  where gateway.png and facilitator.png are written; none by default
  --help             this text

Needs prometheus (Debian's package of that name) on the PATH, and for pictures chromium.
`
const INTERVAL = '20s'

/** Alerts on what does not happen in this load have no series without their comparison. */
const emptyByNature = /^absent\(/

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: { seconds: { type: 'string' }, pictures: { type: 'string' }, help: { type: 'boolean' } },
  })
  if (values.help) {
    process.stdout.write(USAGE)
    return 0
  }
  const world = await startWorld()
  try {
    const { gateway, facilitator, folder } = world
    const targets = { gateway: gateway.metricsUrl, facilitator: facilitator.metricsUrl }
    const prometheus = await startPrometheus(join(folder, 'prometheus'), targets)
    try {
      const load = await startLoad(world)
      await delay(Number(values.seconds ?? 120) * 1000)
      const problems = [
        ...(await provePanels(prometheus, values.pictures)),
        ...(await proveAlerts(prometheus)),
      ]
      await load.stop()
      process.stdout.write(
        `Answers by status: ${JSON.stringify(load.counts)}; webhooks: ${load.webhooks()}\n`,
      )
      process.stdout.write(problems.map((problem) => `  ${problem}\n`).join(''))
      return problems.some((problem) => problem.startsWith('panel')) ? 1 : 0
    } finally {
      await prometheus.stop()
    }
  } finally {
    await closeAll()
    await world.stop()
  }
}

async function provePanels(prometheus: Prometheus, pictures: string | undefined): Promise<string[]> {
  const problems: string[] = []
  for (const service of services) {
    const drawn: DrawnPanel[] = []
    for (const panel of panelsOf(service)) {
      const series = await seriesOf(prometheus, panel)
      drawn.push({ ...panel, series })
      if (series.length === 0) problems.push(`panel without data: ${service}, ${panel.title}`)
    }
    const queries = drawn.flatMap((panel) => panel.queries)
    process.stdout.write(`${service}: ${drawn.length} panels, ${queries.length} queries\n`)
    if (pictures !== undefined) await writePicture(join(root, pictures), service, drawn)
  }
  return problems
}

async function seriesOf(prometheus: Prometheus, { queries }: Panel): Promise<DrawnPanel['series']> {
  const end = Date.now() / 1000
  const answers = await Promise.all(
    queries.map(async ({ expr, legend }) => {
      const found = await prometheus.range(withInterval(expr, INTERVAL), { start: end - 100, end })
      return found
        .filter(({ values }) => values.some(([, value]) => value !== 'NaN'))
        .map(({ metric, values }) => ({ label: labelOf(legend, metric), values }))
    }),
  )
  return answers.flat()
}

const labelOf = (legend: string, metric: Record<string, string>) =>
  legend.replace(/\{\{(\w+)\}\}/g, (_, name: string) => metric[name] ?? '').trim()

/** Each alert is evaluated by Prometheus; the vector before its comparison should have data. */
async function proveAlerts(prometheus: Prometheus): Promise<string[]> {
  const problems: string[] = []
  const alerts = rules.filter(({ alert }) => alert !== undefined)
  for (const { alert = '', expr } of alerts) {
    await prometheus.count(expr)
    const vector = expr.replace(/\s*unless[^]*$/, '').replace(/\s+(?:[<>]=?|==)\s+[^]*$/, '')
    if (!emptyByNature.test(expr) && (await prometheus.count(vector)) === 0)
      problems.push(`alert without data: ${alert}: ${vector}`)
  }
  const firing = await prometheus.count('ALERTS{alertstate="firing"}')
  process.stdout.write(`${alerts.length} alerts evaluated each ${SCRAPE_SECONDS} s; ${firing} fire\n`)
  return problems
}

async function writePicture(folder: string, service: string, panels: readonly DrawnPanel[]) {
  mkdirSync(folder, { recursive: true })
  const browser = await launchBrowser()
  const page = await browser.context.newPage()
  await page.setContent(`<body style="margin:0">${drawDashboard(`Tollgate ${service}`, panels)}</body>`)
  await page.locator('svg').screenshot({ path: join(folder, `${service}.png`) })
  await browser.close()
}

void main().then((code) => (process.exitCode = code))
