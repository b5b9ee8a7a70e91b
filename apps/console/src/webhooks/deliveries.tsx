import { Anchor, Button, Group, SegmentedControl, Stack, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { Link, useLocation, useSearch } from 'wouter'
import { shared, webhooks } from '../texts'
import { Empty } from '../ui/empty'
import { PagedRows } from '../ui/paged-rows'
import { shortened } from '../ui/format'
import { type Column } from '../ui/rows'
import { TimedLink } from '../ui/timed-link'
import { useDeliveries, useReread } from './use-webhooks'
import { useWebhookService } from './webhook-service'
import { type Delivery, deliveryStates } from './webhook'
import { DeliveryBadge } from './webhook-badge'

const texts = webhooks.deliveries
const { columns } = texts
const ALL = 'all'

export function Deliveries({ webhookId }: { webhookId: string }) {
  const [path, navigate] = useLocation()
  const wanted = new URLSearchParams(useSearch()).get('state')
  const state = deliveryStates.find((one) => one === wanted)
  const deliveries = useDeliveries(webhookId, state)
  const reread = useReread()
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          size="xs"
          aria-label={columns.state}
          value={state ?? ALL}
          onChange={(value) => navigate(value === ALL ? path : `${path}?state=${value}`, { replace: true })}
          data={[
            { value: ALL, label: texts.all },
            ...deliveryStates.map((value) => ({ value: value as string, label: texts.states[value] })),
          ]}
        />
        <Button
          size="xs"
          variant="default"
          leftSection={<IconRefresh size={16} aria-hidden />}
          onClick={() => void reread.deliveries()}
        >
          {shared.refresh}
        </Button>
      </Group>
      <PagedRows
        label={texts.title}
        pages={deliveries}
        keyOf={({ id }) => id}
        columns={deliveryColumns(webhookId)}
        empty={<Empty title={state === undefined ? texts.none : texts.noneInState(texts.states[state])} />}
      />
    </Stack>
  )
}

const deliveryColumns = (webhookId: string): Column<Delivery>[] => [
  {
    title: columns.createdAt,
    width: '9rem',
    cell: ({ id, createdAt }) => (
      <TimedLink href={`/webhooks/${webhookId}/deliveries/${id}`} name={texts.open(id)} at={createdAt} />
    ),
  },
  { title: columns.state, width: '7rem', cell: ({ state }) => <DeliveryBadge state={state} /> },
  { title: columns.type, width: '11rem', cell: ({ type }) => type },
  { title: columns.subject, width: '11rem', cell: (delivery) => <Subject {...delivery} /> },
  { title: columns.attempts, width: '6.5rem', isRight: true, cell: ({ attempts }) => attempts },
  {
    title: columns.last,
    width: 'minmax(9rem, 1fr)',
    cell: ({ lastStatus, lastError }) => (
      <Text size="sm" truncate title={lastError ?? ''}>
        {[lastStatus, lastError].filter((part) => part !== null).join(' · ') || '–'}
      </Text>
    ),
  },
]

/** A test is about nothing. */
export function Subject({ type, subject }: Pick<Delivery, 'type' | 'subject'>) {
  const page = useWebhookService().pageOf({ type, subject })
  if (page === undefined) return '–'
  return (
    <Anchor component={Link} href={page}>
      {shortened(subject)}
    </Anchor>
  )
}
