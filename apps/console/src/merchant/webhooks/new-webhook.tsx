import { Anchor } from '@mantine/core'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { merchant } from '../../texts'
import { Page } from '../../ui/page'
import { SecretOnce } from '../../ui/secret-once'
import { Section } from '../../ui/section'
import { ask } from '../api'
import { useReread } from './use-webhooks'
import { type WebhookWithSecret } from './webhook'
import { WebhookForm, type WebhookValues } from './webhook-form'

const texts = merchant.webhooks

export function NewWebhook() {
  const [created, setCreated] = useState<WebhookWithSecret>()
  const [, navigate] = useLocation()
  const reread = useReread()
  async function create({ url, events, description }: WebhookValues) {
    setCreated(await ask<WebhookWithSecret>('POST', '/webhooks', { body: { url, events, description } }))
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
      {created === undefined ? (
        <Section title={texts.form.title}>
          <WebhookForm
            initial={{ url: '', description: '', events: [], active: true }}
            hasActive={false}
            action={texts.add}
            save={create}
          />
        </Section>
      ) : (
        <SecretOnce
          title={texts.created}
          secrets={[[texts.secret, created.secret]]}
          onDone={() => navigate(`/webhooks/${created.id}`)}
        />
      )}
    </Page>
  )
}
