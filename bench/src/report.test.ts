import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Comparison, type Outcome } from './benchmark'
import { benchmarks } from './benchmarks'
import { renderDocument } from './document'
import { root } from './machine'
import { findCharts, openReport, readRows } from './report'
import { type Row } from './row'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-report-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const known = [
  { name: 'first', title: 'The first' },
  { name: 'second', title: 'The second' },
]
const run = {
  machine: { cores: 2, model: 'a model', memory: '8.0 GiB', kernel: 'Linux 6' },
  versions: { node: '20.20.0' },
  command: 'pnpm bench',
  commit: '0123456789',
  date: '2026-11-24',
}
const comparison = (measured: string, ratio: number | null, more: Partial<Comparison> = {}): Comparison => ({
  measured,
  against: 'a peer',
  ratio,
  reach: { atLeast: 0.6 },
  figures: { 'tollgate calls/s': 100 },
  ...more,
})
const outcome = (...comparisons: Comparison[]): Outcome => ({ comparisons, charts: [] })
const measuredOf = (rows: readonly Row[]) =>
  rows.map(({ benchmark, measured }) => `${benchmark}: ${measured}`)

test('a run replaces the rows of its benchmark and keeps the others, in the order of the benchmarks', () => {
  const report = openReport(folder, known)
  report.write('second', outcome(comparison('a', 1)), run)
  report.write('first', outcome(comparison('b', 1), comparison('c', 1)), run)
  expect(measuredOf(readRows(folder))).toEqual(['first: b', 'first: c', 'second: a'])

  report.write('first', outcome(comparison('d', 1)), { ...run, date: '2026-11-25' })

  const rows = readRows(folder)
  expect(measuredOf(rows)).toEqual(['first: d', 'second: a'])
  expect(rows.map(({ date }) => date)).toEqual(['2026-11-25', '2026-11-24'])
})

test('a row says whether its ratio reaches the bound; a peer that is not installed has neither', () => {
  const note = 'a peer is not installed'
  const rows = openReport(folder, known).write(
    'first',
    {
      ...outcome(comparison('met', 0.65), comparison('missed', 0.5), comparison('absent', null, { note })),
      versions: { peer: '1.2.3' },
    },
    run,
  )
  expect(rows.map(({ ratio, reach, met }) => [ratio, reach, met])).toEqual([
    [0.65, '>= 0.60', true],
    [0.5, '>= 0.60', false],
    [null, '>= 0.60', null],
  ])
  expect(rows[2]).toMatchObject({ note, versions: { node: '20.20.0', peer: '1.2.3' }, machine: run.machine })
  expect(readFileSync(join(folder, 'benchmarks.md'), 'utf8')).toMatch(
    /\| missed +\| a peer +\| 0\.5 +\| >= 0\.60 \| no +\|/,
  )
})

test('the charts of a run replace those of its benchmark, and the document shows them', () => {
  const chart = (name: string) => ({
    name,
    title: `Chart ${name}`,
    unit: 'ms',
    bars: [{ label: 'x', value: 1 }],
  })
  const report = openReport(folder, known)
  report.write('first', { ...outcome(comparison('a', 1)), charts: [chart('old'), chart('same')] }, run)
  report.write('second', { ...outcome(comparison('a', 1)), charts: [chart('other')] }, run)
  report.write('first', { ...outcome(comparison('a', 1)), charts: [chart('same'), chart('new')] }, run)

  expect(readdirSync(join(folder, 'benchmarks')).sort()).toEqual([
    'first.new.svg',
    'first.same.svg',
    'second.other.svg',
  ])
  const document = readFileSync(join(folder, 'benchmarks.md'), 'utf8')
  expect(document.match(/!\[.*\]\(.*\)/g)).toEqual([
    '![Chart new](benchmarks/first.new.svg)',
    '![Chart same](benchmarks/first.same.svg)',
    '![Chart other](benchmarks/second.other.svg)',
  ])
})

test('docs/benchmarks.md is unchanged since `pnpm bench` wrote it', () => {
  const docs = join(root, 'docs')
  const rows = readRows(docs)
  if (rows.length === 0) return
  expect(readFileSync(join(docs, 'benchmarks.md'), 'utf8')).toBe(
    renderDocument(benchmarks, rows, findCharts(docs)),
  )
})
