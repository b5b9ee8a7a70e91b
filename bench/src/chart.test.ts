import { renderChart, shown } from './chart'

const chart = {
  name: 'rates',
  title: 'Calls & answers',
  unit: 'calls per second',
  bars: [
    { label: 'Tollgate', value: 5000, own: true },
    { label: 'proxy <bare>', value: 10_000 },
    { label: 'none', value: 0 },
  ],
}

test('the widths of the bars are proportional to their values, and only ours has our colour', () => {
  const bars = [...renderChart(chart).matchAll(/<rect class="(\w+)"[^>]* width="(\d+)"/g)]
  const largest = Number(bars[1]?.[2])
  expect(bars.map(([, kind, width]) => [kind, Number(width)])).toEqual([
    ['own', Math.round(largest / 2)],
    ['peer', largest],
    ['peer', 1],
  ])
})

test('the chart has its title and values as text, escaped, and colours for a dark theme', () => {
  const svg = renderChart(chart)
  expect(svg).toContain('<title>Calls &amp; answers</title>')
  expect(svg).toContain('proxy &lt;bare&gt;')
  expect(svg).toContain(
    '<desc>Tollgate: 5,000; proxy &lt;bare&gt;: 10,000; none: 0 (calls per second)</desc>',
  )
  expect(svg).toContain('prefers-color-scheme:dark')
})

test.each([
  [0, '0'],
  [0.123456, '0.123'],
  [0.0065, '0.0065'],
  [12.34, '12.3'],
  [987.6, '988'],
  [16_712.4, '16,712'],
])('%d is shown as %s', (value, text) => {
  expect(shown(value)).toBe(text)
})
