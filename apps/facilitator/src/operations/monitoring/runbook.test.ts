import { closeAll } from '@tollgate/testing'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { testFacilitator } from '../../testing/facilitator'

afterAll(closeAll)

const root = join(__dirname, '../../../../..')
const runbook = readFileSync(join(root, 'docs/runbook.md'), 'utf8')
const [, rules = ''] = /```yaml\n([^]*?)```/.exec(runbook) ?? []
const alerts = (parse(rules) as { groups: { rules: Record<string, unknown>[] }[] }).groups.flatMap(
  (group) => group.rules,
)

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
      expr: expect.stringContaining('tollgate_') as string,
      labels: { severity: expect.stringMatching(/^(page|ticket)$/) as string },
      annotations: {
        summary: expect.any(String) as string,
        runbook: expect.stringMatching(/^docs\/runbook\.md#./) as string,
      },
    })
  const links = [...runbook.matchAll(/#([\w-]+)\)|docs\/runbook\.md#([\w-]+)/g)].map(
    ([, own, ofAlert]) => own ?? ofAlert,
  )
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

test('the runbook names all metrics of the facilitator, and none that neither service has', async () => {
  const { scrape } = await testFacilitator()
  const offered = [...(await scrape()).matchAll(/^# TYPE (tollgate_\w+)/gm)].map(([, name]) => name)
  const named = [...runbook.matchAll(/\btollgate_\w+/g)].map(([name]) => name.replace(/_bucket$/, ''))
  const ofGateway = [...sourcesIn('apps/gateway/src').matchAll(/name: '(tollgate_\w+)'/g)].map(
    ([, name]) => name,
  )
  expect(offered.filter((name) => !named.includes(name ?? ''))).toEqual([])
  expect(named.filter((name) => !offered.includes(name) && !ofGateway.includes(name))).toEqual([])
})

test('each log message that the runbook quotes exists', () => {
  const quoted = [...runbook.matchAll(/`([a-z]+(?:[ ,;]+[a-z]+){2,})`/g)].map(([, line = '']) => line)
  const sources = sourcesIn(
    'apps/facilitator/src',
    'apps/gateway/src',
    'packages/database/src',
    'packages/webhooks/src',
  )
  const lines = quoted.filter((line) => !line.startsWith('facilitator '))
  expect(lines.length).toBeGreaterThan(5)
  expect(lines.filter((line) => !sources.includes(`'${line}'`))).toEqual([])
})
