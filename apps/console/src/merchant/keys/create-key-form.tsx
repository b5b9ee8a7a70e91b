import { type ClientKey } from '@tollgate/protocol'
import { Button, Checkbox, Select, Stack, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { ask } from '../api'
import { EXPIRY_HOURS, initialKey, SCOPES, toKeyRequest, validateKey } from './key-request'

const texts = merchant.keys.form

export type CreatedKey = ClientKey & { token: string }

export function CreateKeyForm({ onCreated }: { onCreated: (key: CreatedKey) => void }) {
  const form = useForm({ mode: 'uncontrolled', initialValues: initialKey, validate: validateKey })
  const create = useMutation({
    mutationFn: (values: typeof initialKey) =>
      ask<{ client: CreatedKey }>('POST', '/clients', { body: toKeyRequest(values) }),
    onSuccess: ({ client }) => onCreated(client),
  })
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
      <Stack gap="md" maw={560}>
        <TextInput
          label={texts.name}
          description={texts.nameHint}
          maxLength={200}
          required
          key={form.key('title')}
          {...form.getInputProps('title')}
        />
        <Checkbox.Group
          label={texts.scopes}
          description={texts.scopesHint}
          key={form.key('scopes')}
          {...form.getInputProps('scopes')}
        >
          <Stack gap="xs" mt="xs">
            {SCOPES.map((scope) => (
              <Checkbox key={scope} value={scope} label={scope} description={texts.scopeTexts[scope]} />
            ))}
          </Stack>
        </Checkbox.Group>
        <Select
          label={texts.expires}
          data={Object.keys(EXPIRY_HOURS).map((value) => ({
            value,
            label: texts.expiries[value as keyof typeof EXPIRY_HOURS],
          }))}
          allowDeselect={false}
          maw={240}
          key={form.key('expires')}
          {...form.getInputProps('expires')}
        />
        <details className="more">
          <summary>{texts.limits}</summary>
          <Stack gap="sm" mt="sm">
            <Textarea
              label={texts.payTo}
              description={texts.payToHint}
              autosize
              minRows={2}
              spellCheck={false}
              className="mono"
              key={form.key('payTo')}
              {...form.getInputProps('payTo')}
            />
            <TextInput
              label={texts.perMinute}
              description={texts.perMinuteHint}
              inputMode="numeric"
              key={form.key('perMinute')}
              {...form.getInputProps('perMinute')}
            />
            <TextInput
              label={texts.fees}
              description={texts.feesHint}
              inputMode="numeric"
              key={form.key('fees')}
              {...form.getInputProps('fees')}
            />
          </Stack>
        </details>
        {create.isError && <Failure error={create.error} />}
        <Button type="submit" loading={create.isPending} style={{ alignSelf: 'flex-start' }}>
          {texts.action}
        </Button>
      </Stack>
    </form>
  )
}
