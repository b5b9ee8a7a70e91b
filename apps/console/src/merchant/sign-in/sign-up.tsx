import { type SignUpMode } from '@tollgate/protocol'
import { Alert, Anchor, Button, Stack, TextInput, Title } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconLock } from '@tabler/icons-react'
import { useMutation } from '@tanstack/react-query'
import { Link, useLocation } from 'wouter'
import { usePageTitle } from '../../shell/use-page-title'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { Loaded } from '../../ui/loaded'
import { askPublic, signIn } from '../api'
import { checkPassword, EmailField, PasswordField } from './credential-fields'
import { useSignUpMode } from './use-sign-up-mode'

const texts = merchant.signUp

export function SignUp() {
  const heading = usePageTitle(texts.title)
  const mode = useSignUpMode()
  return (
    <Stack gap="md">
      <Title order={1} ref={heading} tabIndex={-1}>
        {texts.title}
      </Title>
      <Loaded query={mode}>
        {(known) =>
          known === 'closed' ? (
            <Alert color="gray" icon={<IconLock aria-hidden />} title={texts.closedTitle}>
              {texts.closed}
            </Alert>
          ) : (
            <SignUpForm mode={known} />
          )
        }
      </Loaded>
      <Anchor component={Link} href="/" size="sm">
        {texts.toSignIn}
      </Anchor>
    </Stack>
  )
}

function SignUpForm({ mode }: { mode: SignUpMode }) {
  const [, navigate] = useLocation()
  const isInvited = mode === 'invitation'
  const form = useForm({
    mode: 'uncontrolled',
    initialValues: { email: '', password: '', invitation: '' },
    validate: { password: checkPassword },
  })
  const create = useMutation({
    async mutationFn({ invitation, ...credentials }: typeof form.values) {
      const body = { ...credentials, ...(isInvited ? { invitation: invitation.trim() } : {}) }
      await askPublic('POST', '/signup', { body })
      await signIn(credentials, false)
    },
    onSuccess: () => navigate('/'),
  })
  return (
    <form onSubmit={form.onSubmit((values) => create.mutate(values))}>
      <Stack gap="sm">
        {isInvited && (
          <TextInput
            label={texts.invitation}
            description={texts.invitationHint}
            autoComplete="off"
            required
            key={form.key('invitation')}
            {...form.getInputProps('invitation')}
          />
        )}
        <EmailField key={form.key('email')} {...form.getInputProps('email')} />
        <PasswordField isNew key={form.key('password')} {...form.getInputProps('password')} />
        {create.isError && <Failure error={create.error} />}
        <Button type="submit" loading={create.isPending} fullWidth>
          {texts.action}
        </Button>
      </Stack>
    </form>
  )
}
