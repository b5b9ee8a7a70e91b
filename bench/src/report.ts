import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Benchmark, type Chart, type Outcome } from './benchmark'
import { renderChart } from './chart'
import { renderDocument } from './document'
import { isReached, reachText } from './reach'
import { type ChartFile, type Row, type Run } from './row'

function rowsOf(benchmark: string, { comparisons, versions }: Outcome, run: Run): Row[] {
  return comparisons.map(({ measured, against, ratio, reach, figures, note }) => ({
    benchmark,
    measured,
    against,
    ratio: ratio === null ? null : Number(ratio.toPrecision(4)),
    reach: reachText(reach),
    met: ratio === null ? null : isReached(ratio, reach),
    figures,
    ...(note === undefined ? {} : { note }),
    ...run,
    versions: { ...run.versions, ...versions },
  }))
}

/** Replaces the rows of one benchmark; the rows of the others stay, in the order of `names`. */
function mergeRows(before: readonly Row[], name: string, rows: readonly Row[], names: readonly string[]) {
  const all = [...before.filter(({ benchmark }) => benchmark !== name), ...rows]
  return names.flatMap((known) => all.filter(({ benchmark }) => benchmark === known))
}

/** benchmarks.json, benchmarks.md and the charts in `folder`. */
export function openReport(folder: string, benchmarks: readonly Pick<Benchmark, 'name' | 'title'>[]) {
  const names = benchmarks.map(({ name }) => name)
  return {
    write(name: string, outcome: Outcome, run: Run): Row[] {
      const rows = rowsOf(name, outcome, run)
      const all = mergeRows(readRows(folder), name, rows, names)
      mkdirSync(folder, { recursive: true })
      writeFileSync(join(folder, 'benchmarks.json'), `${JSON.stringify(all, null, 2)}\n`)
      writeCharts(folder, name, outcome.charts)
      writeFileSync(join(folder, 'benchmarks.md'), renderDocument(benchmarks, all, findCharts(folder)))
      return rows
    },
  }
}

export function readRows(folder: string): Row[] {
  const file = join(folder, 'benchmarks.json')
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Row[]) : []
}

/** The charts are named BENCHMARK.CHART.svg. */
function writeCharts(folder: string, benchmark: string, charts: readonly Chart[]) {
  for (const old of findCharts(folder)) if (old.benchmark === benchmark) rmSync(join(folder, old.file))
  if (charts.length > 0) mkdirSync(join(folder, 'benchmarks'), { recursive: true })
  for (const chart of charts)
    writeFileSync(join(folder, 'benchmarks', `${benchmark}.${chart.name}.svg`), renderChart(chart))
}

export function findCharts(folder: string): ChartFile[] {
  const charts = join(folder, 'benchmarks')
  if (!existsSync(charts)) return []
  return readdirSync(charts)
    .filter((name) => name.endsWith('.svg'))
    .sort()
    .map((name) => ({
      benchmark: name.slice(0, name.indexOf('.')),
      file: `benchmarks/${name}`,
      title: /<title>(.*)<\/title>/.exec(readFileSync(join(charts, name), 'utf8'))?.[1] ?? name,
    }))
}
