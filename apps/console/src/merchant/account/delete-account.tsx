import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { useForm } from '@mantine/form'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { merchant, shared } from '../../texts'
import { Failure } from '../../ui/failure'
import { ask, session } from '../api'
import { PasswordField } from '../sign-in/credential-fields'

const texts = merchant.account.deletion

export function DeleteAccount() {
  const [isOpen, dialog] = useDisclosure(false)
  const form = useForm({ mode: 'uncontrolled', initialValues: { password: '' } })
  const remove = useMutation({
    mutationFn: (password: string) => ask('DELETE', '/users/me', { body: { password } }),
    onSuccess: () => session.end(),
  })
  return (
    <>
      <Button color="red" variant="light" onClick={dialog.open}>
        {texts.open}
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={texts.title}>
        <form onSubmit={form.onSubmit(({ password }) => remove.mutate(password))}>
          <Stack gap="sm">
            <Text size="sm">{texts.text}</Text>
            <PasswordField data-autofocus key={form.key('password')} {...form.getInputProps('password')} />
            {remove.isError && <Failure error={remove.error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={dialog.close}>
                {shared.cancel}
              </Button>
              <Button type="submit" color="red" loading={remove.isPending}>
                {texts.action}
              </Button>
            </Group>
          </Stack>
        </form>
      </Modal>
    </>
  )
}
