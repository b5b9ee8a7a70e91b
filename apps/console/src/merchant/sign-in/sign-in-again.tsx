import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { merchant } from '../../texts'
import { Failure } from '../../ui/failure'
import { session, signIn } from '../api'
import { type Me, ME } from '../account/use-me'
import { EmailField, PasswordField } from './credential-fields'

const texts = merchant.signInAgain

/** Over the page, which keeps its input. The requests that wait are sent after it. */
export function SignInAgain() {
  const email = useQueryClient().getQueryData<Me>(ME)?.email
  const form = useForm({ mode: 'uncontrolled', initialValues: { password: '' } })
  const enter = useMutation({
    mutationFn: async (password: string) => {
      if (email !== undefined) await signIn({ email, password }, session.isKept())
    },
  })
  // The page does not know whose session this was, so it cannot show the data to somebody who signs in.
  useEffect(() => {
    if (email === undefined) session.end()
  }, [email])
  return (
    <Modal
      opened
      onClose={() => undefined}
      title={texts.title}
      withCloseButton={false}
      closeOnEscape={false}
      centered
    >
      <form onSubmit={form.onSubmit(({ password }) => enter.mutate(password))}>
        <Stack gap="sm">
          <Text size="sm">{texts.text}</Text>
          <EmailField value={email ?? ''} readOnly />
          <PasswordField data-autofocus key={form.key('password')} {...form.getInputProps('password')} />
          {enter.isError && <Failure error={enter.error} />}
          <Group justify="space-between">
            <Button variant="default" onClick={() => session.end()}>
              {merchant.account.signOut}
            </Button>
            <Button type="submit" loading={enter.isPending}>
              {merchant.signIn.action}
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  )
}
