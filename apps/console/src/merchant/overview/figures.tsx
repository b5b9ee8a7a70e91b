import { Card, Text } from '@mantine/core'
import { type ReactNode } from 'react'
import { merchant } from '../../texts'
import { Amount } from '../../ui/amount'
import { readableNumber } from '../../ui/format'
import { countsOf, type DayMetrics, shownShare, totalsOf } from './metrics'

const texts = merchant.overview.figures
const SHOWN_TOTALS = 2

const percent = (share: number) =>
  new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 }).format(share)

export function Figures({ metrics }: { metrics: readonly DayMetrics[] }) {
  const { settled, failed, reversed } = countsOf(metrics)
  const totals = totalsOf(metrics)
  const ended = settled + failed + reversed
  return (
    <dl className="figures">
      <Figure
        name={texts.income}
        value={
          totals.length === 0
            ? '–'
            : totals.slice(0, SHOWN_TOTALS).map((total) => (
                <div key={`${total.network} ${total.asset}`}>
                  <Amount amount={total.amount} decimals={total.decimals} symbol={total.symbol} />
                </div>
              ))
        }
        {...(totals.length > SHOWN_TOTALS ? { note: texts.more(totals.length - SHOWN_TOTALS) } : {})}
      />
      <Figure name={texts.settled} value={readableNumber(settled)} />
      <Figure
        name={texts.failed}
        value={readableNumber(failed)}
        {...(reversed > 0 ? { note: texts.reversed(readableNumber(reversed)) } : {})}
      />
      <Figure name={texts.rate} value={ended === 0 ? '–' : percent(shownShare(settled, ended))} />
    </dl>
  )
}

const Figure = ({ name, value, note }: { name: string; value: ReactNode; note?: string }) => (
  <Card withBorder padding="md">
    <Text component="dt" size="sm" c="dimmed">
      {name}
    </Text>
    <Text component="dd" m={0} fz={{ base: 20, sm: 24 }} fw={650} className="amount">
      {value}
      {note !== undefined && (
        <Text size="xs" c="dimmed" component="span" display="block" style={{ whiteSpace: 'normal' }}>
          {note}
        </Text>
      )}
    </Text>
  </Card>
)
