import { type Benchmark } from './benchmark'
import { shown } from './chart'
import { type ChartFile, type Row } from './row'
import { markdownTable } from './table'

const HEAD = `# Benchmarks

\`pnpm bench\` writes this page, [benchmarks.json](benchmarks.json) and the charts. Every contender of a benchmark runs on the same
machine, in turn in each round; the median of the rounds counts. A ratio is ours divided by theirs. A peer that is not installed
has no ratio.

\`\`\`sh
pnpm install && pnpm build
pnpm bench --list             # the benchmarks
pnpm bench                    # all of them
pnpm bench NAME --rounds 3    # one of them, with three rounds
\`\`\`

A run replaces the rows and charts of its own benchmarks. Load comes from \`wrk\` where a benchmark needs it (Debian package wrk).
[scaling.md](scaling.md) computes from these figures what more calls need.
`

export function renderDocument(
  benchmarks: readonly Pick<Benchmark, 'name' | 'title'>[],
  rows: readonly Row[],
  charts: readonly ChartFile[],
): string {
  const sections = benchmarks.flatMap((benchmark) => {
    const own = rows.filter((row) => row.benchmark === benchmark.name)
    const pictures = charts.filter((chart) => chart.benchmark === benchmark.name)
    return own.length > 0 ? [renderSection(benchmark, own, pictures)] : []
  })
  return [HEAD, ...sections].join('\n')
}

function renderSection({ name, title }: Pick<Benchmark, 'name' | 'title'>, rows: Row[], charts: ChartFile[]) {
  const comparisons = rows.map((row) => [
    row.measured,
    row.against,
    row.ratio === null ? '' : shown(row.ratio),
    row.reach,
    metText(row.met),
    row.note ?? '',
  ])
  const figures = rows.flatMap((row) => Object.entries(row.figures))
  const figureRows = unique(figures.map(([figure, value]) => [figure, figureText(value)]))
  return [
    `## ${title}\n`,
    markdownTable(['Measured', 'Against', 'Ratio', 'Reach', 'Met', 'Note'], comparisons),
    ...charts.map((chart) => `![${chart.title}](${chart.file})\n`),
    ...(figureRows.length > 0 ? [markdownTable(['Figure', 'Median'], figureRows)] : []),
    ...runsOf(rows, name),
  ].join('\n')
}

/** One line for each run that the rows come from. */
function runsOf(rows: readonly Row[], name: string): string[] {
  const lines = rows.map(({ command, date, commit, machine, versions }) => {
    const { cores, model, memory, kernel } = machine
    const programs = Object.entries(versions).map(([program, version]) => `${program} ${version}`)
    return `\`${name}\`: \`${command}\`, ${date}, commit ${commit}; ${cores} cores, ${model}, ${memory}, ${kernel}; ${programs.join(', ')}.\n`
  })
  return unique(lines)
}

/** Comparisons of one benchmark often share figures. */
const unique = <T>(values: readonly T[]): T[] => [
  ...new Map(values.map((value) => [JSON.stringify(value), value])).values(),
]

const metText = (met: boolean | null) => (met === null ? '' : met ? 'yes' : 'no')
const figureText = (value: number | string) => (typeof value === 'number' ? shown(value) : value)
