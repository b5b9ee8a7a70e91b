import { type SettlementDetails } from '@tollgate/protocol'
import { Text, Timeline } from '@mantine/core'
import {
  IconAlertTriangle,
  IconArrowBackUp,
  IconBroadcast,
  IconCheck,
  IconPencil,
  IconRefresh,
  IconSend,
  IconStack2,
} from '@tabler/icons-react'
import { type ComponentType } from 'react'
import { merchant } from '../../texts'
import { exactTime } from '../../ui/format'
import { Time } from '../../ui/time'

type Look = { icon: ComponentType<{ size?: number }>; color?: string }

const looks: Record<string, Look> = {
  claimed: { icon: IconSend },
  signed: { icon: IconPencil },
  accepted: { icon: IconBroadcast },
  replaced: { icon: IconRefresh, color: 'yellow' },
  mined: { icon: IconStack2 },
  settled: { icon: IconCheck, color: 'green' },
  reported: { icon: IconArrowBackUp },
  failed: { icon: IconAlertTriangle, color: 'red' },
  reversed: { icon: IconAlertTriangle, color: 'red' },
}

const events: Record<string, { title: string; text: string }> = merchant.settlement.events

/** `+2.1 s` since the event before. */
function elapsed(at: string, before: string | undefined): string | undefined {
  if (before === undefined) return undefined
  const seconds = (Date.parse(at) - Date.parse(before)) / 1000
  return merchant.settlement.later(
    new Intl.NumberFormat(undefined, { maximumFractionDigits: seconds < 10 ? 2 : 0 }).format(seconds),
  )
}

export const SettlementTimeline = ({ timeline }: Pick<SettlementDetails, 'timeline'>) => (
  <Timeline active={timeline.length} bulletSize={26} lineWidth={2} role="list">
    {timeline.map(({ at, event }, index) => {
      const { icon: Icon, color } = looks[event] ?? { icon: IconStack2 }
      return (
        <Timeline.Item
          key={`${index} ${event}`}
          role="listitem"
          bullet={<Icon size={14} aria-hidden />}
          title={events[event]?.title ?? event}
          {...(color === undefined ? {} : { color })}
        >
          <Text size="sm" c="dimmed">
            {events[event]?.text}
          </Text>
          <Text size="xs" c="dimmed" mt={2} title={exactTime(new Date(at))}>
            <Time at={at} /> {elapsed(at, timeline[index - 1]?.at)}
          </Text>
        </Timeline.Item>
      )
    })}
  </Timeline>
)
