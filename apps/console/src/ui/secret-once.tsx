import { Alert, Button, CopyButton, Group, Stack, Text } from '@mantine/core'
import { IconKey } from '@tabler/icons-react'
import { useLeaveGuard } from '../shell/fragment-location'
import { shared } from '../texts'

type Props = {
  title: string
  secrets: readonly (readonly [name: string, value: string])[]
  onDone: () => void
}

/** Secrets that the service shows only now. Stays until the reader says that they are stored, and asks before the page is left. */
export function SecretOnce({ title, secrets, onDone }: Props) {
  const letLeave = useLeaveGuard(shared.secret.leave)
  function finish() {
    letLeave()
    onDone()
  }
  return (
    <Alert color="yellow" icon={<IconKey aria-hidden />} title={title}>
      <Stack gap="sm">
        <Text size="sm">{shared.secret.once}</Text>
        {secrets.map(([name, value]) => (
          <Group key={name} gap="xs" align="center">
            <Text size="sm" fw={600} w="100%">
              {name}
            </Text>
            <Text className="mono" component="code" flex={1} miw={0} style={{ overflowWrap: 'anywhere' }}>
              {value}
            </Text>
            <CopyButton value={value}>
              {({ copied, copy }) => (
                <Button size="xs" variant="default" onClick={copy} aria-label={`${shared.copy}: ${name}`}>
                  {copied ? shared.copied : shared.copy}
                </Button>
              )}
            </CopyButton>
          </Group>
        ))}
        <Group>
          <Button size="xs" onClick={finish}>
            {shared.secret.done}
          </Button>
        </Group>
      </Stack>
    </Alert>
  )
}
