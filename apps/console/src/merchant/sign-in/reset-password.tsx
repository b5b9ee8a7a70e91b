import { Alert, Anchor, Button, PasswordInput, Stack, Text, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconCheck } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link } from 'wouter'
import { usePageTitle } from '../../shell/use-page-title'
import { merchant, shared } from '../../texts'
import { Failure } from '../../ui/failure'
import { askPublic } from '../api'
import { checkPassword, PasswordField } from './credential-fields'
import { Status } from '../../ui/status'

const texts = merchant.reset

export function ResetPassword() {
  const heading = usePageTitle(texts.title)
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { token: '', password: '' },
    validate: { password: checkPassword },
  })
  const reset = useMutation({
    mutationFn: ({ token, password }: typeof form.values) =>
      askPublic('POST', '/password/reset', { body: { token: token.trim(), password } }),
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
      <Status>
        {reset.isSuccess && <Alert color="green" icon={<IconCheck aria-hidden />} title={texts.done} />}
      </Status>
      {!reset.isSuccess && (
        <form onSubmit={form.onSubmit((values) => reset.mutate(values))}>
          <Stack gap="sm">
            <PasswordInput
              label={texts.token}
              autoComplete="one-time-code"
              visibilityToggleButtonProps={{ 'aria-label': shared.showText, tabIndex: 0 }}
              required
              key={form.key('token')}
              {...form.getInputProps('token')}
            />
            <PasswordField isNew key={form.key('password')} {...form.getInputProps('password')} />
            {reset.isError && <Failure error={reset.error} />}
            <Button type="submit" loading={reset.isPending} fullWidth>
              {texts.action}
            </Button>
          </Stack>
        </form>
      )}
      <Anchor component={Link} href="/" size="sm">
        {merchant.signUp.toSignIn}
      </Anchor>
    </Stack>
  )
}
