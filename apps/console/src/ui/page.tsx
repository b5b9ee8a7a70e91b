import { Group, Stack, Text, Title } from '@mantine/core'
import { type ReactNode } from 'react'
import { usePageTitle } from '../shell/use-page-title'

type Props = { title: string; text?: ReactNode; actions?: ReactNode; children: ReactNode }

export function Page({ title, text, actions, children }: Props) {
  const heading = usePageTitle(title)
  return (
    <Stack gap="lg" maw={1120} mx="auto">
      <Group justify="space-between" align="flex-start" gap="sm">
        <Stack gap={4} miw={0}>
          <Title order={1} ref={heading} tabIndex={-1}>
            {title}
          </Title>
          {text !== undefined && <Text c="dimmed">{text}</Text>}
        </Stack>
        {actions !== undefined && <Group gap="xs">{actions}</Group>}
      </Group>
      {children}
    </Stack>
  )
}
