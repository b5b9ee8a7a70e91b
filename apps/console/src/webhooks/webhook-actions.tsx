import { Button, Group, Stack } from '@mantine/core'
import { IconPencil, IconSend } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { webhooks as texts } from '../texts'
import { ConfirmButton } from '../ui/confirm-button'
import { Failure } from '../ui/failure'
import { SecretOnce } from '../ui/secret-once'
import { Status } from '../ui/status'
import { useWebhookService } from './webhook-service'
import { useReread } from './use-webhooks'
import { type Delivery, type Webhook, type WebhookWithSecret } from './webhook'

export function WebhookActions({ webhook: { id, active } }: { webhook: Webhook }) {
  const [secret, setSecret] = useState<string>()
  const [, navigate] = useLocation()
  const reread = useReread()
  const { ask } = useWebhookService()
  const test = useMutation({
    mutationFn: () => ask<Delivery>('POST', `/webhooks/${id}/test`),
    async onSuccess(delivery) {
      await reread.deliveries()
      navigate(`/webhooks/${id}/deliveries/${delivery.id}`)
    },
  })
  async function rotate() {
    setSecret((await ask<WebhookWithSecret>('POST', `/webhooks/${id}/secret`)).secret)
    await reread.webhooks()
  }
  async function remove() {
    await ask('DELETE', `/webhooks/${id}`)
    navigate('/webhooks')
    await reread.webhooks()
  }
  return (
    <Stack gap="sm">
      <Status>
        {secret !== undefined && (
          <SecretOnce
            title={texts.rotated}
            secrets={[[texts.secret, secret]]}
            onDone={() => setSecret(undefined)}
          />
        )}
      </Status>
      <Group gap="xs">
        <Button
          size="xs"
          leftSection={<IconSend size={14} aria-hidden />}
          loading={test.isPending}
          disabled={!active}
          onClick={() => test.mutate()}
        >
          {texts.test}
        </Button>
        <Button
          size="xs"
          variant="default"
          component={Link}
          href={`/webhooks/${id}/edit`}
          leftSection={<IconPencil size={14} aria-hidden />}
        >
          {texts.edit}
        </Button>
        <ConfirmButton label={texts.rotate} text={texts.rotateText} action={texts.rotate} run={rotate} />
        <ConfirmButton label={texts.remove} text={texts.removeText} action={texts.remove} run={remove} />
      </Group>
      {test.isError && <Failure error={test.error} retry={() => test.mutate()} />}
    </Stack>
  )
}
