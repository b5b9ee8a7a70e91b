import { type Bar, type Chart } from './benchmark'

const WIDTH = 760
const VALUES = 90
/** Of a character, at most, on average. */
const CHARACTER = 7.6
const ROW = 30
const BAR = 18
const HEAD = 58
const FOOT = 12

/** The text colours change with the reader's theme; the bars and the transparent background suit both. */
const STYLE = `text{font:13px system-ui,sans-serif;fill:#24292f}.title{font-size:15px;font-weight:600}.unit{fill:#57606a}.own{fill:#2f81f7}.peer{fill:#8b949e}@media(prefers-color-scheme:dark){text{fill:#e6edf3}.unit{fill:#9198a1}}`

/** A chart of horizontal bars as SVG. Our own bars are blue. */
export function renderChart({ title, unit, bars }: Chart): string {
  const scale = {
    left: Math.round(16 + CHARACTER * Math.max(...bars.map(({ label }) => label.length))),
    largest: Math.max(...bars.map(({ value }) => value)),
  }
  const height = HEAD + bars.length * ROW + FOOT
  const description = bars.map(({ label, value }) => `${label}: ${shown(value)}`).join('; ')
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">`,
    `<title>${escaped(title)}</title>`,
    `<desc>${escaped(`${description} (${unit})`)}</desc>`,
    `<style>${STYLE}</style>`,
    `<text class="title" x="12" y="24">${escaped(title)}</text>`,
    `<text class="unit" x="12" y="44">${escaped(unit)}</text>`,
    ...bars.map((bar, index) => renderBar(bar, HEAD + index * ROW, scale)),
    '</svg>',
    '',
  ].join('\n')
}

function renderBar(
  { label, value, own }: Bar,
  top: number,
  { left, largest }: { left: number; largest: number },
): string {
  const width = largest > 0 ? Math.max(1, Math.round(((WIDTH - left - VALUES) * value) / largest)) : 1
  const middle = top + BAR / 2 + 4.5
  return [
    `<text x="${left - 8}" y="${middle}" text-anchor="end">${escaped(label)}</text>`,
    `<rect class="${own ? 'own' : 'peer'}" x="${left}" y="${top}" width="${width}" height="${BAR}" rx="2"/>`,
    `<text x="${left + width + 8}" y="${middle}">${shown(value)}</text>`,
  ].join('')
}

/** Three digits, or all digits of larger numbers. */
export const shown = (value: number): string =>
  value.toLocaleString(
    'en',
    Math.abs(value) >= 1000 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 },
  )

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
