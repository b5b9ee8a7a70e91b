import { Button, type ButtonProps, Group, Modal, Stack, Text } from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { useMutation } from '@tanstack/react-query'
import { shared } from '../texts'
import { Failure } from './failure'

type Props = ButtonProps & {
  label: string
  /** Of the dialog, if it says more than the button. */
  title?: string
  /** What happens, and what cannot be undone. */
  text: string
  /** Of the button that does it. */
  action: string
  run: () => Promise<unknown>
}

/** A button for what cannot be undone: asks first, and shows why it failed. */
export function ConfirmButton({ label, title = label, text, action, run, ...button }: Props) {
  const [isOpen, dialog] = useDisclosure(false)
  const work = useMutation({ mutationFn: run, onSuccess: dialog.close })
  return (
    <>
      <Button size="xs" variant="default" {...button} onClick={dialog.open}>
        {label}
      </Button>
      <Modal opened={isOpen} onClose={dialog.close} title={title}>
        <Stack>
          <Text>{text}</Text>
          {work.isError && <Failure error={work.error} />}
          <Group justify="flex-end">
            <Button variant="default" onClick={dialog.close}>
              {shared.cancel}
            </Button>
            <Button color="red" loading={work.isPending} onClick={() => work.mutate()}>
              {action}
            </Button>
          </Group>
        </Stack>
      </Modal>
    </>
  )
}
