import { Alert, Button, Group, Select, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { webhooks } from '../texts'
import { Failure } from '../ui/failure'
import { exactTime, readableNumber } from '../ui/format'
import { Status } from '../ui/status'
import { useWebhookService } from './webhook-service'
import { toReplayRequest } from './replay-request'
import { useReread } from './use-webhooks'

const texts = webhooks.range

type Replayed = { replayed: number; until: string | null }

export function ReplayRange({ webhookId }: { webhookId: string }) {
  const reread = useReread()
  const { ask } = useWebhookService()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { from: '', to: '', state: 'failed' },
    validate: { from: (from: string) => (from === '' ? texts.fromMissing : null) },
  })
  const replay = useMutation({
    mutationFn: (values: typeof form.values) =>
      ask<Replayed>('POST', `/webhooks/${webhookId}/replay`, { body: toReplayRequest(values) }),
    onSuccess: () => reread.deliveries(),
  })
  return (
    <form onSubmit={form.onSubmit((values) => replay.mutate(values))}>
      <Stack gap="sm">
        <Text size="sm">{texts.text}</Text>
        <Group gap="sm" align="flex-end">
          <TextInput
            label={texts.from}
            type="datetime-local"
            required
            key={form.key('from')}
            {...form.getInputProps('from')}
          />
          <TextInput
            label={texts.to}
            type="datetime-local"
            key={form.key('to')}
            {...form.getInputProps('to')}
          />
          <Select
            label={texts.which}
            data={[
              { value: 'failed', label: texts.failed },
              { value: 'delivered', label: texts.delivered },
              { value: 'ended', label: texts.ended },
            ]}
            allowDeselect={false}
            key={form.key('state')}
            {...form.getInputProps('state')}
          />
          <Button type="submit" variant="default" loading={replay.isPending}>
            {texts.action}
          </Button>
        </Group>
        {replay.isError && <Failure error={replay.error} />}
        <Status>{replay.data && <Outcome {...replay.data} />}</Status>
      </Stack>
    </form>
  )
}

function Outcome({ replayed, until }: Replayed) {
  if (replayed === 0) return <Alert color="gray" title={texts.doneNone} />
  return (
    <Alert color="green" title={texts.done(replayed, readableNumber(replayed))}>
      {until !== null && texts.until(exactTime(new Date(until)))}
    </Alert>
  )
}
