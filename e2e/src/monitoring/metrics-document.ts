import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../testing/world'
import { type ExportedMetric } from './exported-metrics'

export const documentFile = join(root, 'docs/metrics.md')

const BEGIN = '<!-- The tables are written by `node e2e/dist/monitoring/write-metrics.js`. -->\n'

/** The document with the tables of what both services, or one of them, export. */
export function metricsDocument(
  gateway: readonly ExportedMetric[],
  facilitator: readonly ExportedMetric[],
): string {
  const [introduction = ''] = readFileSync(documentFile, 'utf8').split(BEGIN)
  const own = (metrics: readonly ExportedMetric[]) =>
    metrics.filter(({ name }) => name.startsWith('tollgate_'))
  const has = (metrics: readonly ExportedMetric[], name: string) =>
    metrics.some((metric) => metric.name === name)
  const tables = [
    ['Both services', own(gateway).filter(({ name }) => has(facilitator, name))],
    ['Gateway', own(gateway).filter(({ name }) => !has(facilitator, name))],
    ['Facilitator', own(facilitator).filter(({ name }) => !has(gateway, name))],
  ] as const
  return `${introduction}${BEGIN}${tables.map(([title, metrics]) => sectionOf(title, metrics)).join('')}`
}

function sectionOf(title: string, metrics: readonly ExportedMetric[]): string {
  const rows = metrics
    .toSorted((one, other) => (one.name < other.name ? -1 : 1))
    .map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      help.replaceAll('|', '\\|'),
    ])
  const cells = [['Metric', 'Type', 'Labels', 'Meaning'], ...rows]
  const widths = [0, 1, 2, 3].map((column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)))
  const lineOf = (row: readonly string[]) =>
    `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |\n`
  const [head = [], ...body] = cells
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |\n`
  return `\n## ${title}\n\n${lineOf(head)}${rule}${body.map(lineOf).join('')}`
}
