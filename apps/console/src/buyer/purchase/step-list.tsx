import { Group, List, Loader, Text, ThemeIcon, VisuallyHidden } from '@mantine/core'
import { IconCheck, IconPoint, IconX } from '@tabler/icons-react'
import { type ReactNode } from 'react'
import { buyer } from '../../texts'
import { type StepState } from './purchase-steps'

type Step = { name: string; text: string; state: StepState }

const icons: Record<StepState, ReactNode> = {
  done: (
    <ThemeIcon color="green" size={24} radius="xl">
      <IconCheck size={15} aria-hidden />
    </ThemeIcon>
  ),
  active: <Loader size={22} aria-hidden />,
  waiting: (
    <ThemeIcon color="gray" variant="light" size={24} radius="xl">
      <IconPoint size={15} aria-hidden />
    </ThemeIcon>
  ),
  failed: (
    <ThemeIcon color="red" size={24} radius="xl">
      <IconX size={15} aria-hidden />
    </ThemeIcon>
  ),
}

export function StepList({ steps }: { steps: readonly Step[] }) {
  const current = steps.find(({ state }) => state === 'active' || state === 'failed')
  return (
    <>
      <List listStyleType="none" spacing="xs" type="ordered">
        {steps.map(({ name, text, state }) => (
          <List.Item key={name} aria-current={state === 'active' ? 'step' : undefined} data-state={state}>
            <Group gap="sm" wrap="nowrap" align="flex-start">
              {icons[state]}
              <div>
                <Text fw={state === 'waiting' ? 400 : 600} {...(state === 'waiting' ? { c: 'dimmed' } : {})}>
                  {name}
                  <VisuallyHidden> {buyer.purchase.states[state]}</VisuallyHidden>
                </Text>
                {state === 'active' && (
                  <Text size="sm" c="dimmed">
                    {text}
                  </Text>
                )}
              </div>
            </Group>
          </List.Item>
        ))}
      </List>
      <VisuallyHidden role="status">
        {current && `${current.name}: ${buyer.purchase.states[current.state]}`}
      </VisuallyHidden>
    </>
  )
}
