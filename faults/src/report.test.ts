import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '@tollgate/e2e/testing/world'
import { renderReliability, type Findings } from './reliability'
import { openReport } from './report'
import { type Row } from './scenario'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-report-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const row = (fault: string, times: number): Row => ({
  fault,
  where: 'facilitator',
  times,
  payments: 4 * times,
  outcome: 'each was settled once',
  counted: `${4 * times} transfers | successes`,
  worstSeconds: 1.25,
})
const read = () => JSON.parse(readFileSync(join(folder, 'reliability.json'), 'utf8')) as Findings
const timesOf = (findings: Findings) =>
  Object.entries(findings).map(([name, rows]) => [
    name,
    Object.fromEntries(rows.map(({ fault, times }) => [fault, times])),
  ])

describe('the report', () => {
  test('a part replaces its own rows, a whole scenario all its rows, and no other scenario changes', () => {
    const report = openReport(folder, ['first', 'second'])
    report.write('second', [row('a', 1)], { isWhole: true })
    report.write('first', [row('a', 1), row('b', 1)], { isWhole: true })
    report.write('first', [row('b', 2), row('c', 2)], { isWhole: false })
    expect(timesOf(read())).toEqual([
      ['first', { a: 1, b: 2, c: 2 }],
      ['second', { a: 1 }],
    ])
    report.write('first', [row('d', 3)], { isWhole: true })
    expect(timesOf(read())).toEqual([
      ['first', { d: 3 }],
      ['second', { a: 1 }],
    ])
    const document = readFileSync(join(folder, 'reliability.md'), 'utf8')
    expect(document).toBe(renderReliability(read()))
    expect(document.match(/^\| `\w+`.*$/gm)).toEqual([
      expect.stringContaining(
        String.raw`| d     | 3     | 12       | each was settled once | 12 transfers \| successes | 1.3 s `,
      ),
      expect.stringContaining('| a     | 1 '),
    ])
  })

  test('docs/reliability.md is unchanged since `pnpm faults` wrote it', () => {
    const docs = join(root, 'docs')
    const findings = JSON.parse(readFileSync(join(docs, 'reliability.json'), 'utf8')) as Findings
    expect(readFileSync(join(docs, 'reliability.md'), 'utf8')).toBe(renderReliability(findings))
  })
})
