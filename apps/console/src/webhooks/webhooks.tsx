import { Anchor, Badge, Button, Card, Group, Stack, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { Link } from 'wouter'
import { webhooks as texts } from '../texts'
import { Empty } from '../ui/empty'
import { isolated } from '../ui/isolated'
import { Loaded } from '../ui/loaded'
import { Page } from '../ui/page'
import { useWebhooks } from './use-webhooks'
import { type Webhook } from './webhook'
import { WebhookBadge } from './webhook-badge'

export function Webhooks() {
  const webhooks = useWebhooks()
  return (
    <Page
      title={texts.pageTitle}
      text={texts.text}
      actions={
        <Button component={Link} href="/webhooks/new" leftSection={<IconPlus size={16} aria-hidden />}>
          {texts.add}
        </Button>
      }
    >
      <Loaded query={webhooks}>
        {(all) =>
          all.length === 0 ? (
            <Empty title={texts.none.title}>
              <Text size="sm">{texts.none.text}</Text>
              <Anchor component={Link} href="/webhooks/new">
                {texts.add}
              </Anchor>
            </Empty>
          ) : (
            <Stack gap="sm" component="ul" className="plain-list">
              {all.map((webhook) => (
                <WebhookCard key={webhook.id} webhook={webhook} />
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Page>
  )
}

const WebhookCard = ({ webhook }: { webhook: Webhook }) => (
  <Card withBorder padding="md" component="li">
    <Group justify="space-between" gap="xs" wrap="nowrap" align="flex-start">
      <Stack gap={4} miw={0}>
        <Anchor
          component={Link}
          href={`/webhooks/${webhook.id}`}
          fw={600}
          style={{ overflowWrap: 'anywhere' }}
        >
          {isolated(webhook.url)}
        </Anchor>
        {webhook.description !== '' && (
          <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
            {isolated(webhook.description)}
          </Text>
        )}
        <EventBadges events={webhook.events} />
      </Stack>
      <WebhookBadge webhook={webhook} />
    </Group>
  </Card>
)

/** None means all. */
export const EventBadges = ({ events }: { events: readonly string[] }) => (
  <Group gap={6}>
    {(events.length === 0 ? [texts.allEvents] : events).map((event) => (
      <Badge key={event} variant="default" tt="none" fw={500}>
        {event}
      </Badge>
    ))}
  </Group>
)
