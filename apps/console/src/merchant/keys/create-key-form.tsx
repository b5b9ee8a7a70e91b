import { type ClientKey } from '@tollgate/protocol'
import { Alert, Anchor, Button, Checkbox, Select, Stack, Text, Textarea, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { ApiError, isOutcomeUnknown } from '../../api/api-error'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { ask } from '../api'
import { findLostKey } from './lost-key'
import { KEYS, readNewestKeys, useClientKeys } from './use-client-keys'
import { EXPIRY_HOURS, initialKey, SCOPES, toKeyRequest, validateKey } from './key-request'

const texts = merchant.keys.form

export type CreatedKey = ClientKey & { token: string }

export function CreateKeyForm({ onCreated }: { onCreated: (key: CreatedKey) => void }) {
  const form = useForm({ mode: 'uncontrolled', initialValues: initialKey, validate: validateKey })
  const before = useClientKeys()
  const queries = useQueryClient()
  const create = useMutation({
    async mutationFn(values: typeof initialKey) {
      const known = before.data?.pages.flat() ?? []
      const request = toKeyRequest(values)
      try {
        return (await ask<{ client: CreatedKey }>('POST', '/clients', { body: request })).client
      } catch (error) {
        if (!isOutcomeUnknown(error)) throw error
        return { lost: await readLostKey(request.title, known, error) }
      }
    },
    onSuccess: (key) => 'token' in key && onCreated(key),
    onSettled: () => queries.invalidateQueries({ queryKey: KEYS }),
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
        {create.data && 'lost' in create.data && <LostKey lost={create.data.lost} />}
        <Button type="submit" loading={create.isPending} style={{ alignSelf: 'flex-start' }}>
          {texts.action}
        </Button>
      </Stack>
    </form>
  )
}

/** The key that a request created whose answer was lost. @throws ApiError if there is none, or if that is not known */
async function readLostKey(title: string, known: readonly ClientKey[], error: ApiError): Promise<ClientKey> {
  const listed = await readNewestKeys().catch(() => {
    throw new ApiError(
      error.status,
      error.code,
      `${error.message} ${merchant.keys.lost.unknown}`,
      error.requestId,
    )
  })
  const lost = findLostKey(title, known, listed)
  if (lost === undefined) throw error
  return lost
}

const LostKey = ({ lost }: { lost: ClientKey }) => (
  <Alert color="yellow" role="alert" title={merchant.keys.lost.title(lost.title)}>
    <Text size="sm">
      {merchant.keys.lost.text}{' '}
      <Anchor component={Link} href="/keys" inherit underline="always">
        {merchant.keys.toList}
      </Anchor>
    </Text>
  </Alert>
)
