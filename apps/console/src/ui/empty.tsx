import { Center, Stack, Text } from '@mantine/core'
import { type ReactNode } from 'react'

/** What a list without rows says: why it is empty, and what to do. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <Center py="xl">
      <Stack align="center" gap="xs" maw={440} ta="center">
        <Text fw={600}>{title}</Text>
        {children}
      </Stack>
    </Center>
  )
}
