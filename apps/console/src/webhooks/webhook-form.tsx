import { Button, Checkbox, NumberInput, Stack, Switch, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { webhooks } from '../texts'
import { Failure } from '../ui/failure'
import { useWebhookService } from './webhook-service'

const texts = webhooks.form

const eventTexts: Record<string, string> = texts.eventTexts

export type WebhookValues = {
  url: string
  description: string
  events: string[]
  active: boolean
  balanceBelow: number | ''
}

type Props = {
  initial: WebhookValues
  /** A new endpoint is active. */
  hasActive: boolean
  action: string
  save: (values: WebhookValues) => Promise<void>
}

const checkUrl = (url: string) => (/^https?:\/\/\S+$/.test(url.trim()) ? null : texts.urlWrong)

export function WebhookForm({ initial, hasActive, action, save }: Props) {
  const { events, hasBalance } = useWebhookService()
  const form = useForm({ mode: 'uncontrolled', initialValues: initial, validate: { url: checkUrl } })
  const work = useMutation({
    mutationFn: ({ url, ...values }: WebhookValues) => save({ ...values, url: url.trim() }),
  })
  return (
    <form onSubmit={form.onSubmit((values) => work.mutate(values))}>
      <Stack gap="md" maw={560}>
        <TextInput
          label={texts.url}
          description={texts.urlHint}
          placeholder="https://shop.example/hooks"
          inputMode="url"
          maxLength={2_048}
          required
          key={form.key('url')}
          {...form.getInputProps('url')}
        />
        <Checkbox.Group
          label={texts.events}
          description={texts.eventsHint}
          key={form.key('events')}
          {...form.getInputProps('events')}
        >
          <Stack gap="xs" mt="xs">
            {events.map((event) => (
              <Checkbox key={event} value={event} label={event} description={eventTexts[event]} />
            ))}
          </Stack>
        </Checkbox.Group>
        <TextInput
          label={texts.description}
          maxLength={256}
          key={form.key('description')}
          {...form.getInputProps('description')}
        />
        {hasBalance && (
          <NumberInput
            label={texts.balance}
            description={texts.balanceHint}
            min={0}
            allowDecimal={false}
            key={form.key('balanceBelow')}
            {...form.getInputProps('balanceBelow')}
          />
        )}
        {hasActive && (
          <Switch
            label={texts.active}
            description={texts.activeHint}
            key={form.key('active')}
            {...form.getInputProps('active', { type: 'checkbox' })}
          />
        )}
        {work.isError && <Failure error={work.error} />}
        <Button type="submit" loading={work.isPending} style={{ alignSelf: 'flex-start' }}>
          {action}
        </Button>
      </Stack>
    </form>
  )
}

export const toNewWebhook = ({ url, events, description, balanceBelow }: WebhookValues) => ({
  url,
  events,
  description,
  ...(balanceBelow === '' ? {} : { balanceBelow }),
})

/** An empty limit removes it. */
export const toWebhookChange = ({ balanceBelow, ...values }: WebhookValues, hasBalance: boolean) => ({
  ...values,
  ...(hasBalance ? { balanceBelow: balanceBelow === '' ? null : balanceBelow } : {}),
})
