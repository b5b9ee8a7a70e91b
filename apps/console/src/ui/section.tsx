import { Card, Group, Title } from '@mantine/core'
import { type ReactNode } from 'react'

type Props = { title: string; actions?: ReactNode; children: ReactNode }

export function Section({ title, actions, children }: Props) {
  return (
    <Card component="section" withBorder padding="md" aria-label={title}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2}>{title}</Title>
        {actions}
      </Group>
      {children}
    </Card>
  )
}
