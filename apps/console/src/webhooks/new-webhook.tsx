import { Anchor } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { webhooks as texts } from '../texts'
import { Page } from '../ui/page'
import { SecretOnce } from '../ui/secret-once'
import { Status } from '../ui/status'
import { Section } from '../ui/section'
import { useWebhookService } from './webhook-service'
import { useReread } from './use-webhooks'
import { type WebhookWithSecret } from './webhook'
import { toNewWebhook, WebhookForm, type WebhookValues } from './webhook-form'

export function NewWebhook() {
  const [created, setCreated] = useState<WebhookWithSecret>()
  const [, navigate] = useLocation()
  const reread = useReread()
  const { ask } = useWebhookService()
  async function create(values: WebhookValues) {
    setCreated(await ask<WebhookWithSecret>('POST', '/webhooks', { body: toNewWebhook(values) }))
    await reread.webhooks()
  }
  return (
    <Page
      title={texts.add}
      text={
        <Anchor component={Link} href="/webhooks" size="sm">
          {texts.toList}
        </Anchor>
      }
    >
      {created === undefined && (
        <Section title={texts.form.title}>
          <WebhookForm
            initial={{ url: '', description: '', events: [], active: true, balanceBelow: '' }}
            hasActive={false}
            action={texts.add}
            save={create}
          />
        </Section>
      )}
      <Status>
        {created && (
          <SecretOnce
            title={texts.created}
            secrets={[[texts.secret, created.secret]]}
            onDone={() => navigate(`/webhooks/${created.id}`)}
          />
        )}
      </Status>
    </Page>
  )
}
