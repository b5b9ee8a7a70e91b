import { SegmentedControl } from '@mantine/core'
import { useState } from 'react'
import { merchant } from '../../texts'
import { Empty } from '../../ui/empty'
import { onDemand } from '../../ui/on-demand'
import { Section } from '../../ui/section'
import { type DayMetrics, incomeBars, totalsOf } from './metrics'

const texts = merchant.overview.income
const COLORS = ['petrol.5', 'yellow.5', 'grape.5', 'orange.5', 'lime.5', 'pink.5']

export function Income({ metrics, days }: { metrics: readonly DayMetrics[]; days: number }) {
  const symbols = [...new Set(totalsOf(metrics).map(({ symbol }) => symbol))]
  const [wanted, setWanted] = useState('')
  const symbol = symbols.includes(wanted) ? wanted : symbols[0]
  return (
    <Section
      title={symbol === undefined ? texts.title : texts.titleIn(symbol)}
      actions={
        symbols.length > 1 && (
          <SegmentedControl
            size="xs"
            aria-label={texts.asset}
            value={symbol ?? ''}
            onChange={setWanted}
            data={symbols}
          />
        )
      }
    >
      {symbol === undefined ? (
        <Empty title={texts.none} />
      ) : (
        <IncomeChart metrics={metrics} days={days} symbol={symbol} />
      )}
    </Section>
  )
}

const Bars = onDemand('bars', () => import('../../ui/bars'))

type ChartProps = { metrics: readonly DayMetrics[]; days: number; symbol: string }

function IncomeChart({ metrics, days, symbol }: ChartProps) {
  const { bars, networks } = incomeBars(metrics, { symbol, count: days, now: new Date() })
  const { format } = new Intl.NumberFormat(undefined, { maximumSignificantDigits: 6 })
  return (
    <Bars
      label={texts.label(symbol)}
      bars={bars}
      series={networks.map((name, index) => ({
        name,
        label: name,
        color: COLORS[index % COLORS.length] ?? 'petrol.5',
      }))}
      format={format}
    />
  )
}
