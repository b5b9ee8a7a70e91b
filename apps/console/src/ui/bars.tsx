import '@mantine/charts/styles.css'
import { BarChart } from '@mantine/charts'
import { Table } from '@mantine/core'
import { shared } from '../texts'
import { readableNumber, shortDay } from './format'

export type Series = { name: string; label: string; color: string }
/** `period`: a day in UTC, like `2026-01-31`. */
export type Bar = { period: string } & Record<string, number | string>

type Props = {
  /** What the chart shows, for a screen reader. */
  label: string
  bars: readonly Bar[]
  series: readonly Series[]
  format?: (value: number) => string
}

/** A stacked bar for each day, and the same numbers as a table. Loaded on demand: charts are the largest part of the pages. */
export default function Bars({ label, bars, series, format = readableNumber }: Props) {
  return (
    <figure style={{ margin: 0 }} aria-label={label}>
      <div aria-hidden>
        <BarChart
          h={260}
          data={bars.map((bar) => ({ ...bar, period: shortDay(bar.period) }))}
          dataKey="period"
          type="stacked"
          series={[...series]}
          withLegend={series.length > 1}
          valueFormatter={format}
          // They are whole numbers if no format is given.
          yAxisProps={{ allowDecimals: format !== readableNumber }}
          tickLine="none"
          gridAxis="x"
          barProps={{ isAnimationActive: false }}
          barChartProps={{ accessibilityLayer: false }}
          tabIndex={-1}
        />
      </div>
      <details>
        <summary>{shared.showTable}</summary>
        <Table aria-label={label}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th />
              {series.map((one) => (
                <Table.Th key={one.name}>{one.label}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {bars.map((bar) => (
              <Table.Tr key={bar.period}>
                <Table.Th scope="row">{shortDay(bar.period)}</Table.Th>
                {series.map(({ name }) => (
                  <Table.Td key={name}>{format(Number(bar[name] ?? 0))}</Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </details>
    </figure>
  )
}
