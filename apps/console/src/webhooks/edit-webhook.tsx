import { Anchor } from '@mantine/core'
import { Link, useLocation } from 'wouter'
import { webhooks as texts } from '../texts'
import { Empty } from '../ui/empty'
import { Loaded } from '../ui/loaded'
import { Page } from '../ui/page'
import { Section } from '../ui/section'
import { useWebhookService } from './webhook-service'
import { useReread, useWebhook } from './use-webhooks'
import { toWebhookChange, WebhookForm, type WebhookValues } from './webhook-form'

export function EditWebhook({ id }: { id: string }) {
  const found = useWebhook(id)
  const reread = useReread()
  const { ask, hasBalance } = useWebhookService()
  const [, navigate] = useLocation()
  async function save(values: WebhookValues) {
    await ask('PUT', `/webhooks/${id}`, { body: toWebhookChange(values, hasBalance) })
    await reread.webhooks()
    navigate(`/webhooks/${id}`)
  }
  return (
    <Page
      title={texts.editTitle}
      text={
        <Anchor component={Link} href={`/webhooks/${id}`} size="sm">
          {texts.toWebhook}
        </Anchor>
      }
    >
      <Section title={texts.form.title}>
        <Loaded query={found}>
          {({ webhook }) =>
            webhook === undefined ? (
              <Empty title={texts.absent} />
            ) : (
              <WebhookForm
                initial={{
                  url: webhook.url,
                  description: webhook.description,
                  events: webhook.events,
                  active: webhook.active,
                  balanceBelow: webhook.balanceBelow ?? '',
                }}
                hasActive
                action={texts.save}
                save={save}
              />
            )
          }
        </Loaded>
      </Section>
    </Page>
  )
}
