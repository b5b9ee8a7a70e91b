import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { webhooks as texts } from '../texts'
import { Empty } from '../ui/empty'
import { Facts } from '../ui/facts'
import { Identifier } from '../ui/identifier'
import { isolated } from '../ui/isolated'
import { Loaded } from '../ui/loaded'
import { Page } from '../ui/page'
import { Section } from '../ui/section'
import { Time } from '../ui/time'
import { Deliveries } from './deliveries'
import { ReplayRange } from './replay-range'
import { useWebhook } from './use-webhooks'
import { type Webhook } from './webhook'
import { WebhookActions } from './webhook-actions'
import { WebhookBadge } from './webhook-badge'
import { EventBadges } from './webhooks'

export function WebhookPage({ id }: { id: string }) {
  const found = useWebhook(id)
  return (
    <Page
      title={texts.title}
      text={
        <Anchor component={Link} href="/webhooks" size="sm">
          {texts.toList}
        </Anchor>
      }
    >
      <Loaded query={found}>
        {({ webhook }) =>
          webhook === undefined ? <Empty title={texts.absent} /> : <Details webhook={webhook} />
        }
      </Loaded>
    </Page>
  )
}

const Details = ({ webhook }: { webhook: Webhook }) => (
  <>
    <WebhookActions webhook={webhook} />
    <Section title={texts.facts}>
      <Facts
        facts={[
          [texts.form.url, <Identifier key="url" value={webhook.url} isWhole />],
          [texts.names.state, <WebhookBadge key="state" webhook={webhook} />],
          [texts.names.disabledReason, webhook.disabledReason],
          [
            texts.names.failingSince,
            typeof webhook.failingSince === 'string' && <Time key="since" at={webhook.failingSince} />,
          ],
          [texts.form.events, <EventBadges key="events" events={webhook.events} />],
          [texts.form.balance, webhook.balanceBelow],
          [texts.form.description, isolated(webhook.description)],
          [texts.names.createdAt, <Time key="created" at={webhook.createdAt} />],
          [
            texts.names.secretRotatedAt,
            webhook.secretRotatedAt !== null && <Time key="rotated" at={webhook.secretRotatedAt} />,
          ],
        ]}
      />
    </Section>
    <Section title={texts.deliveries.title}>
      <Text size="sm" c="dimmed" mb="sm">
        {texts.deliveries.text}
      </Text>
      <Deliveries webhookId={webhook.id} />
    </Section>
    <Section title={texts.range.title}>
      <ReplayRange webhookId={webhook.id} />
    </Section>
  </>
)
