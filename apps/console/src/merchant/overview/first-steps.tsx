import { Anchor, Group, List, Text, ThemeIcon } from '@mantine/core'
import { IconCheck, IconCircleDashed } from '@tabler/icons-react'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Section } from '../../ui/section'
import { useClientKeys } from '../keys/use-client-keys'
import { useRequestTotals, useTotals } from './use-metrics'

const texts = merchant.overview.firstSteps

/** For a merchant without a settlement. Each step is done once the service has seen it. */
export function FirstSteps() {
  const totals = useTotals()
  const isNew = totals.data?.settled === 0
  const requests = useRequestTotals(isNew)
  const keys = useClientKeys()
  if (!isNew) return null
  const hasKey = keys.data?.pages.some((page) => page.length > 0) ?? false
  const hasServer = (requests.data?.clients.length ?? 0) > 0
  return (
    <Section title={texts.title}>
      <List listStyleType="none" spacing="md" type="ordered" center={false}>
        <Step isDone={hasKey || hasServer} path="/keys/new" {...texts.key} />
        <Step isDone={hasServer} path="/snippets" {...texts.snippet} />
        <Step isDone={false} path="/settlements" {...texts.settlement} />
      </List>
    </Section>
  )
}

type StepProps = { isDone: boolean; path: string; title: string; text: string }

const Step = ({ isDone, path, title, text }: StepProps) => (
  <List.Item
    icon={
      <ThemeIcon radius="xl" size={28} color={isDone ? 'green' : 'gray'} variant="light">
        {isDone ? <IconCheck size={16} aria-hidden /> : <IconCircleDashed size={16} aria-hidden />}
      </ThemeIcon>
    }
  >
    <Group gap="xs">
      <Anchor component={Link} href={path} fw={600}>
        {title}
      </Anchor>
      <Text size="xs" c="dimmed">
        {isDone ? texts.done : texts.open}
      </Text>
    </Group>
    <Text size="sm" c="dimmed">
      {text}
    </Text>
  </List.Item>
)
