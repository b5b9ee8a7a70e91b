import { Anchor, Button, Group, Table, Text } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { webhooks } from '../texts'
import { Code } from '../ui/code'
import { Facts } from '../ui/facts'
import { Failure } from '../ui/failure'
import { readableNumber } from '../ui/format'
import { Identifier } from '../ui/identifier'
import { Loaded } from '../ui/loaded'
import { Page } from '../ui/page'
import { Section } from '../ui/section'
import { Time } from '../ui/time'
import { WideTable } from '../ui/wide-table'
import { useWebhookService } from './webhook-service'
import { Subject } from './deliveries'
import { useDelivery, useReread } from './use-webhooks'
import { type Attempt, type DeliveryDetails } from './webhook'
import { DeliveryBadge } from './webhook-badge'

const texts = webhooks.delivery

export function DeliveryPage({ webhookId, id }: { webhookId: string; id: string }) {
  const delivery = useDelivery(webhookId, id)
  const reread = useReread()
  const { ask } = useWebhookService()
  const replay = useMutation({
    mutationFn: () => ask('POST', `/webhooks/${webhookId}/deliveries/${id}/replay`),
    onSuccess: () => Promise.all([reread.delivery(), reread.deliveries()]),
  })
  return (
    <Page
      title={texts.title(id)}
      text={
        <Anchor component={Link} href={`/webhooks/${webhookId}`} size="sm">
          {webhooks.toWebhook}
        </Anchor>
      }
      actions={
        <Button
          size="xs"
          leftSection={<IconRefresh size={14} aria-hidden />}
          loading={replay.isPending}
          disabled={delivery.data === undefined || delivery.data.state === 'pending'}
          onClick={() => replay.mutate()}
        >
          {texts.replay}
        </Button>
      }
    >
      {replay.isError && <Failure error={replay.error} retry={() => replay.mutate()} />}
      <Loaded query={delivery} lines={8}>
        {(found) => <Details delivery={found} />}
      </Loaded>
    </Page>
  )
}

const Details = ({ delivery }: { delivery: DeliveryDetails }) => (
  <>
    <Section title={webhooks.facts}>
      <Facts
        facts={[
          [texts.names.state, <DeliveryBadge key="state" state={delivery.state} />],
          [texts.names.type, delivery.type],
          [texts.names.subject, <Subject key="subject" {...delivery} />],
          [texts.names.messageId, <Identifier key="message" value={delivery.messageId} isWhole />],
          [texts.names.createdAt, <Time key="created" at={delivery.createdAt} />],
          [
            texts.names.deliveredAt,
            delivery.deliveredAt !== null && <Time key="delivered" at={delivery.deliveredAt} />,
          ],
          [
            texts.names.nextAttemptAt,
            delivery.state === 'pending' && delivery.nextAttemptAt !== null && (
              <Time key="next" at={delivery.nextAttemptAt} />
            ),
          ],
        ]}
      />
    </Section>
    <Section title={texts.attempts}>
      <Attempts log={delivery.log} />
    </Section>
    <Section title={texts.payload}>
      <Code label={texts.payloadJson} text={JSON.stringify(delivery.payload, null, 2)} />
    </Section>
  </>
)

function Attempts({ log }: { log: readonly Attempt[] }) {
  if (log.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {texts.noAttempt}
      </Text>
    )
  return (
    <WideTable label={texts.attempts} minWidth={480}>
      <Table.Thead>
        <Table.Tr>
          <Table.Th>{texts.columns.at}</Table.Th>
          <Table.Th>{texts.columns.answer}</Table.Th>
          <Table.Th ta="right">{texts.columns.duration}</Table.Th>
        </Table.Tr>
      </Table.Thead>
      <Table.Tbody>
        {log.map(({ at, status, error, durationMs }) => (
          <Table.Tr key={at}>
            <Table.Td>
              <Time at={at} />
            </Table.Td>
            <Table.Td>
              <Group gap="xs">
                {status !== null && <Text size="sm">{status}</Text>}
                {error !== null && (
                  <Text size="sm" className="reason">
                    {error}
                  </Text>
                )}
              </Group>
            </Table.Td>
            <Table.Td ta="right">{texts.milliseconds(readableNumber(durationMs))}</Table.Td>
          </Table.Tr>
        ))}
      </Table.Tbody>
    </WideTable>
  )
}
