import { type Panel } from './rules-and-dashboards'
import { type Series } from './prometheus'

export type DrawnPanel = Panel & { series: { label: string; values: Series['values'] }[] }

const COLUMNS = 4
const [WIDTH, HEIGHT] = [340, 200]
const PLOT = { left: 52, top: 30, width: 276, height: 118 }
const COLOURS = ['#2f81f7', '#d29922', '#3fb950', '#f85149', '#a371f7', '#db61a2', '#39c5cf', '#8b949e']
const MAX_LABELS = 4

/** One picture of all panels as SVG, drawn from the answers of their queries. */
export function drawDashboard(title: string, panels: readonly DrawnPanel[]): string {
  const height = 60 + Math.ceil(panels.length / COLUMNS) * HEIGHT
  const width = COLUMNS * WIDTH + 20
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    '<style>text{font:11px system-ui,sans-serif;fill:#24292f}.title{font-weight:600}.head{font-size:17px;font-weight:600}.grid{stroke:#d0d7de}</style>',
    `<rect width="${width}" height="${height}" fill="#fff"/>`,
    `<text class="head" x="14" y="28">${escaped(title)}</text>`,
    '<text x="14" y="46">Drawn from the answers of the queries of each panel; not a picture of Grafana.</text>',
    ...panels.map((panel, index) => {
      const [x, y] = [10 + (index % COLUMNS) * WIDTH, 56 + Math.floor(index / COLUMNS) * HEIGHT]
      return `<g transform="translate(${x} ${y})">${drawPanel(panel)}</g>`
    }),
    '</svg>',
    '',
  ].join('\n')
}

function drawPanel({ title, unit, series }: DrawnPanel): string {
  const points = series.flatMap(({ values }) => values.map(([at, value]) => ({ at, value: Number(value) })))
  const finite = points.filter(({ value }) => Number.isFinite(value))
  const largest = Math.max(0, ...finite.map(({ value }) => value)) || 1
  const [from, until] = [Math.min(...points.map(({ at }) => at)), Math.max(...points.map(({ at }) => at))]
  const x = (at: number) => PLOT.left + (PLOT.width * (at - from)) / Math.max(1, until - from)
  const y = (value: number) => PLOT.top + PLOT.height * (1 - value / largest)
  const grid = [0, 0.5, 1].map((part) => {
    const at = y(part * largest)
    const line = `<line class="grid" x1="${PLOT.left}" x2="${PLOT.left + PLOT.width}" y1="${at}" y2="${at}"/>`
    return `${line}<text x="${PLOT.left - 5}" y="${at + 4}" text-anchor="end">${formatted(part * largest, unit)}</text>`
  })
  const lines = series.map(({ values }, index) => {
    const path = values
      .filter(([, value]) => Number.isFinite(Number(value)))
      .map(([at, value]) => `${x(at).toFixed(1)},${y(Number(value)).toFixed(1)}`)
    return `<polyline fill="none" stroke="${colourOf(index)}" stroke-width="1.5" points="${path.join(' ')}"/>`
  })
  const labels = series.slice(0, MAX_LABELS).map(({ label }, index) => {
    const left = PLOT.left + (index % 2) * 145
    const top = PLOT.top + PLOT.height + 16 + Math.floor(index / 2) * 15
    const text = label.length > 24 ? `${label.slice(0, 23)}…` : label
    return `<rect x="${left - 12}" y="${top - 7}" width="8" height="3" fill="${colourOf(index)}"/><text x="${left}" y="${top}">${escaped(text)}</text>`
  })
  const more =
    series.length > MAX_LABELS
      ? `<text x="4" y="${PLOT.top + PLOT.height + 31}">+${series.length - MAX_LABELS}</text>`
      : ''
  return `<rect x="0" y="2" width="${WIDTH - 8}" height="${HEIGHT - 8}" fill="none" stroke="#d0d7de" rx="4"/><text class="title" x="10" y="19">${escaped(title)}</text>${[...grid, ...lines, ...labels].join('')}${more}`
}

const colourOf = (index: number) => COLOURS[index % COLOURS.length] ?? ''

function formatted(value: number, unit: string): string {
  if (unit === 'percentunit') return `${(value * 100).toPrecision(3)} %`
  if (unit === 'bytes') return `${(value / 1_048_576).toFixed(0)} MiB`
  if (unit === 's' && value > 0 && value < 1) return `${Number((value * 1000).toPrecision(3))} ms`
  const text = value.toLocaleString('en', { maximumSignificantDigits: 3 })
  return unit === 's' ? `${text} s` : unit === 'reqps' ? `${text}/s` : text
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
