import { closeAll } from '@tollgate/testing'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { testFacilitator } from '../../testing/facilitator'

afterAll(closeAll)

const root = join(__dirname, '../../../../..')
const runbook = readFileSync(join(root, 'docs/operate/runbook.md'), 'utf8')
const monitoring = join(root, 'deploy/monitoring')
type Rule = Record<'alert' | 'expr' | 'labels' | 'annotations', unknown>
const alerts = readdirSync(monitoring)
  .filter((file) => file.endsWith('.rules.yaml'))
  .map(
    (file) =>
      parse(readFileSync(join(monitoring, file), 'utf8')) as { spec: { groups: { rules: Rule[] }[] } },
  )
  .flatMap(({ spec }) => spec.groups.flatMap(({ rules }) => rules))
  .filter(({ alert }) => alert !== undefined)

const anchors = [...runbook.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
  heading
    .toLowerCase()
    .replace(/[^\w\s-]/g, '')
    .replaceAll(' ', '-'),
)

test('each alert and each internal link of the runbook leads to an existing section', () => {
  expect(alerts.length).toBeGreaterThan(5)
  for (const { alert, expr, labels, annotations } of alerts)
    expect({ alert, expr, labels, annotations }).toEqual({
      alert: expect.stringMatching(/^Tollgate[A-Z]\w+$/) as string,
      expr: expect.any(String) as string,
      labels: { severity: expect.stringMatching(/^(page|ticket)$/) as string },
      annotations: {
        summary: expect.any(String) as string,
        runbook_url: expect.stringMatching(/^docs\/operate\/runbook\.md#./) as string,
      },
    })
  const own = [...runbook.matchAll(/\(#([\w-]+)\)/g)].map(([, link]) => link)
  const ofAlerts = alerts.map(
    ({ annotations }) => (annotations as { runbook_url: string }).runbook_url.split('#')[1],
  )
  const links = [...own, ...ofAlerts]
  expect(links.filter((link) => link === undefined || !anchors.includes(link))).toEqual([])
})

const sourcesIn = (...folders: string[]) =>
  folders
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) =>
        join(root, folder, file),
      ),
    )
    .filter((file) => file.endsWith('.ts') && !file.includes('.test.'))
    .map((file) => readFileSync(file, 'utf8'))
    .join('\n')

/** Of the HTTP server, which the alert on errors reads. */
const isGeneral = (name = '') => name.startsWith('tollgate_http_')

test('the runbook and the alerts name all metrics of the facilitator, and none that neither service has', async () => {
  const { scrape } = await testFacilitator()
  const offered = [...(await scrape()).matchAll(/^# TYPE (tollgate_\w+)/gm)].map(([, name]) => name)
  const namesIn = (text: string) => [...text.matchAll(/\btollgate_\w+/g)].map(([name]) => name)
  const named = namesIn(runbook)
  const inAlerts = namesIn(alerts.map(({ expr }) => expr).join(' ')).map((name) =>
    name.replace(/_bucket$/, ''),
  )
  const elsewhere = sourcesIn('apps/gateway/src', 'packages/service/src')
  expect(offered.filter((name) => ![...named, ...inAlerts].includes(name ?? '') && !isGeneral(name))).toEqual(
    [],
  )
  expect(named.filter((name) => !offered.includes(name) && !elsewhere.includes(`'${name}'`))).toEqual([])
})

test('each log message that the runbook quotes exists', () => {
  const quoted = [...runbook.matchAll(/`([a-z]+(?:[ ,;]+[a-z]+){2,})`/g)].map(([, line = '']) => line)
  const sources = sourcesIn(
    'apps/facilitator/src',
    'apps/gateway/src',
    'packages/database/src',
    'packages/webhooks/src',
    'packages/service/src',
  )
  const lines = quoted.filter((line) => !line.startsWith('facilitator '))
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.filter((line) => !sources.includes(`'${line}'`))).toEqual([])
})
