import { Button, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { ask } from '../api'
import { checkPassword, PasswordField } from '../sign-in/credential-fields'
import { SESSIONS } from './sessions'
import { useMe } from './use-me'

const texts = merchant.account.password

export function PasswordForm() {
  const queries = useQueryClient()
  const { data: me } = useMe()
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { current: '', next: '' },
    validate: { next: checkPassword },
  })
  const change = useMutation({
    mutationFn: ({ current, next }: typeof form.values) =>
      ask('POST', '/password', { body: { current_password: current, new_password: next } }),
    onSuccess() {
      form.reset()
      notifications.show({ message: texts.done })
      return queries.invalidateQueries({ queryKey: SESSIONS })
    },
  })
  return (
    <form onSubmit={form.onSubmit((values) => change.mutate(values))}>
      <Stack gap="sm" maw={420}>
        <input type="hidden" autoComplete="username" value={me?.email ?? ''} readOnly />
        <PasswordField label={texts.current} key={form.key('current')} {...form.getInputProps('current')} />
        <PasswordField isNew key={form.key('next')} {...form.getInputProps('next')} />
        {change.isError && <Failure error={change.error} />}
        <Button type="submit" loading={change.isPending} style={{ alignSelf: 'flex-start' }}>
          {texts.action}
        </Button>
      </Stack>
    </form>
  )
}
