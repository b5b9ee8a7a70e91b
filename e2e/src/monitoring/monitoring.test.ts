import { closeAll, closeLater } from '@tollgate/testing'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { startWorld } from '../testing/world'
import { alertCases, type AlertCase } from './alert-cases'
import { exercise } from './exercised-world'
import { seriesNames, unknownIn, type ExportedMetric } from './exported-metrics'
import { documentFile, metricsDocument } from './metrics-document'
import { hasPromtool, promtool } from './promtool'
import { folder, panelsOf, ruleFiles, rules, services, specOf, withInterval } from './rules-and-dashboards'

const alerts = rules.filter(({ alert }) => alert !== undefined)
const queries = services.flatMap((service) =>
  panelsOf(service).flatMap((panel) => panel.queries.map(({ expr }) => expr)),
)

let exported: Record<'gateway' | 'facilitator', ExportedMetric[]>
beforeAll(async () => {
  const world = await startWorld()
  closeLater(() => world.stop())
  exported = await exercise(world)
}, 120_000)
afterAll(closeAll, 30_000)

/** Without Redis the services have none of its metrics. */
const withRedis = process.env['TEST_REDIS_URL'] === undefined ? test.skip : test

describe('what the running services export', () => {
  withRedis('has every metric and label of the rules and dashboards', () => {
    const known = seriesNames([...exported.gateway, ...exported.facilitator])
    for (const { record, expr } of rules) {
      const by = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
        list.split(',').map((label) => label.trim()),
      )
      if (record !== undefined) known.set(record, [...new Set(by)])
    }
    expect(queries.length).toBeGreaterThan(50)
    expect([...rules.map(({ expr }) => expr), ...queries].flatMap((expr) => unknownIn(expr, known))).toEqual(
      [],
    )
    expect(
      unknownIn('sum by (wallet) (tollgate_no_such{a="1"} + tollgate_calls_total{wallet="0x"})', known),
    ).toHaveLength(3)
  })

  withRedis('is in docs/metrics.md: else run node e2e/dist/monitoring/write-metrics.js', () => {
    expect(readFileSync(documentFile, 'utf8')).toBe(metricsDocument(exported.gateway, exported.facilitator))
  })

  test('begins with tollgate_, or is of the process', () => {
    const names = [...exported.gateway, ...exported.facilitator].map(({ name }) => name)
    expect(names.filter((name) => !/^(tollgate|process|nodejs)_/.test(name))).toEqual([])
  })
})

test('the dashboards are those of dashboards.mjs', () => {
  const source = pathToFileURL(join(folder, 'dashboards.mjs')).href
  const script = `import(${JSON.stringify(source)}).then(({ dashboards }) => process.stdout.write(JSON.stringify(dashboards)))`
  const written = JSON.parse(execFileSync(process.execPath, ['-e', script], { encoding: 'utf8' })) as object
  const files = services.map((service) => [
    service,
    JSON.parse(readFileSync(join(folder, `${service}.dashboard.json`), 'utf8')) as unknown,
  ])
  expect(Object.fromEntries(files)).toEqual(written)
})

const withPromtool = hasPromtool ? describe : describe.skip
withPromtool('promtool', () => {
  const work = mkdtempSync(join(tmpdir(), 'tollgate-promtool-'))
  afterAll(() => rmSync(work, { recursive: true, force: true }))
  const ruleFilesOf = () => Object.fromEntries(ruleFiles.map((name) => [`${name}.yaml`, specOf(name)]))

  test('parses every query of the dashboards', () => {
    const asRules = queries.map((expr, index) => ({
      record: `query:${index}`,
      expr: withInterval(expr, '5m'),
    }))
    const checked = promtool(work, ['check', 'rules'], {
      'queries.yaml': { groups: [{ name: 'queries', rules: asRules }] },
    })
    expect(checked).toContain(`${queries.length} rules found`)
  })

  test('fires each alert, and does not fire it without its cause', () => {
    expect(alertCases.map(({ alert }) => alert).toSorted()).toEqual(
      alerts.map(({ alert }) => alert).toSorted(),
    )
    const tests = alertCases.flatMap((one) => [testOf(one, true), testOf(one, false)])
    promtool(work, ['test', 'rules'], {
      ...ruleFilesOf(),
      'tests.yaml': {
        rule_files: ruleFiles.map((name) => `${name}.yaml`),
        evaluation_interval: '30s',
        tests,
      },
    })
  })
})

function testOf({ alert, at, fires, quiet, labels = {}, summary }: AlertCase, isFiring: boolean) {
  const rule = alerts.find((one) => one.alert === alert)
  const firing = {
    exp_labels: { ...labels, ...rule?.labels },
    exp_annotations: { ...rule?.annotations, summary },
  }
  return {
    name: `${alert} ${isFiring ? 'fires' : 'is quiet'}`,
    interval: '30s',
    input_series: Object.entries(isFiring ? fires : quiet).map(([series, values]) => ({ series, values })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts: isFiring ? [firing] : [] }],
  }
}
