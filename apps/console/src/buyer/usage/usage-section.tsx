import { Group, SegmentedControl, Text } from '@mantine/core'
import { useState } from 'react'
import { buyer } from '../../texts'
import { readableNumber } from '../../ui/format'
import { Loaded } from '../../ui/loaded'
import { onDemand } from '../../ui/on-demand'
import { Section } from '../../ui/section'
import { useUsage } from '../data'
import { useUtcDay } from './use-utc-day'
import { lastDays, usageBars, type Measure, type Split } from './usage-bars'

const Bars = onDemand('bars', () => import('../../ui/bars'))
const DAYS = 30

export function UsageSection({ address }: { address: string }) {
  const [measure, setMeasure] = useState<Measure>('credits')
  const [split, setSplit] = useState<Split>('method')
  const periods = lastDays(DAYS, useUtcDay())
  const usage = useUsage(address, 'day', periods[0] ?? '')
  const texts = buyer.usage
  return (
    <Section
      title={texts.title(DAYS)}
      actions={
        <Group gap="xs">
          <Choice label={texts.measure} value={measure} onChange={setMeasure} names={texts.measures} />
          <Choice label={texts.split} value={split} onChange={setSplit} names={texts.splits} />
        </Group>
      }
    >
      <Loaded query={usage}>
        {(totals) => {
          if (totals.length === 0) return <Text c="dimmed">{texts.none}</Text>
          const labels = { others: texts.others, noMethod: texts.rest }
          const { bars, series } = usageBars(totals, { measure, split, periods, labels })
          const failed = totals.reduce((sum, total) => sum + total.failed, 0)
          return (
            <>
              <Bars label={texts.title(DAYS)} bars={bars} series={series} />
              {failed > 0 && (
                <Text size="sm" c="dimmed" mt="xs">
                  {texts.failed(readableNumber(failed))}
                </Text>
              )}
            </>
          )
        }}
      </Loaded>
    </Section>
  )
}

function Choice<Name extends string>(props: {
  label: string
  value: Name
  onChange: (value: Name) => void
  names: Record<Name, string>
}) {
  const { label, value, onChange, names } = props
  const data = Object.entries<string>(names).map(([name, text]) => ({ value: name, label: text }))
  return (
    <SegmentedControl
      size="xs"
      aria-label={label}
      value={value}
      onChange={(chosen) => onChange(chosen as Name)}
      data={data}
    />
  )
}
