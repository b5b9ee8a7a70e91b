import { Alert, Button, Group, PasswordInput, Stack } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation } from '@tanstack/react-query'
import { operator, shared } from '../../texts'
import { Failure } from '../../ui/failure'
import { Page } from '../../ui/page'
import { isUnauthorized, useAdmin } from '../admin'

const texts = operator.signIn

export function SignIn() {
  const { signIn, isRefused } = useAdmin()
  const form = useForm({
    initialValues: { token: '' },
    validate: { token: (token) => (token.trim() === '' ? texts.needed : null) },
  })
  const signingIn = useMutation({ mutationFn: ({ token }: { token: string }) => signIn(token.trim()) })
  return (
    <Page title={texts.title} text={texts.text}>
      <form onSubmit={form.onSubmit((values) => signingIn.mutate(values))}>
        <Stack maw={420}>
          <PasswordInput
            label={texts.token}
            autoComplete="off"
            visibilityToggleButtonProps={{ 'aria-label': shared.showText, tabIndex: 0 }}
            {...form.getInputProps('token')}
          />
          {signingIn.isIdle && isRefused && (
            <Alert color="yellow" role="alert">
              {texts.ended}
            </Alert>
          )}
          {signingIn.isError &&
            (isUnauthorized(signingIn.error) ? (
              <Alert color="red" role="alert">
                {texts.wrong}
              </Alert>
            ) : (
              <Failure error={signingIn.error} />
            ))}
          <Group>
            <Button type="submit" loading={signingIn.isPending}>
              {texts.action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Page>
  )
}
