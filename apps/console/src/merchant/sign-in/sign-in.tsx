import { Anchor, Button, Checkbox, Group, Stack, Text, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { usePageTitle } from '../../shell/use-page-title'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { signIn } from '../api'
import { EmailField, PasswordField } from './credential-fields'
import { useSignUpMode } from './use-sign-up-mode'

const texts = merchant.signIn

export function SignIn() {
  const heading = usePageTitle(texts.title)
  const mode = useSignUpMode()
  const form = useForm({ mode: 'uncontrolled', initialValues: { email: '', password: '', isKept: false } })
  const enter = useMutation({
    mutationFn: ({ isKept, ...credentials }: typeof form.values) => signIn(credentials, isKept),
  })
  return (
    <Stack gap="md">
      <div>
        <Title order={1} ref={heading} tabIndex={-1}>
          {texts.title}
        </Title>
        <Text c="dimmed" size="sm" mt={4}>
          {texts.text}
        </Text>
      </div>
      <form onSubmit={form.onSubmit((values) => enter.mutate(values))}>
        <Stack gap="sm">
          <EmailField key={form.key('email')} {...form.getInputProps('email')} />
          <PasswordField key={form.key('password')} {...form.getInputProps('password')} />
          <Checkbox
            label={texts.keep}
            key={form.key('isKept')}
            {...form.getInputProps('isKept', { type: 'checkbox' })}
          />
          {enter.isError && <Failure error={enter.error} />}
          <Button type="submit" loading={enter.isPending} fullWidth>
            {texts.action}
          </Button>
        </Stack>
      </form>
      <Group justify="space-between" gap="xs">
        {mode.data === 'closed' ? (
          <Text size="sm" c="dimmed">
            {texts.closed}
          </Text>
        ) : (
          <Anchor component={Link} href="/sign-up" size="sm">
            {mode.data === 'invitation' ? texts.toInvitation : texts.toSignUp}
          </Anchor>
        )}
        <Anchor component={Link} href="/reset" size="sm">
          {texts.toReset}
        </Anchor>
      </Group>
    </Stack>
  )
}
