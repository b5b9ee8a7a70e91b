import { Alert, Badge, Group, Text } from '@mantine/core'
import { buyer } from '../../texts'
import { Code } from '../../ui/code'
import { readableNumber } from '../../ui/format'
import { Section } from '../../ui/section'
import { StatusBadge } from '../../ui/status-badge'
import { failureText } from '../purchase/failure-text'
import { answerBadge } from './answer-badge'
import { indented } from './examples'

const texts = buyer.playground

type Answer = {
  status: number
  text: string
  milliseconds: number
  charged: string | null
  remaining: string | null
}

export const CallAnswer = ({ answer }: { answer: Answer }) => (
  <Section title={texts.answer}>
    <Group gap="xs" mb="sm" role="status">
      <Outcome answer={answer} />
      {answer.charged !== null && (
        <Badge variant="light" color="gray" tt="none">
          {texts.charged(Number(answer.charged))}
        </Badge>
      )}
      {answer.remaining !== null && (
        <Text size="sm">{texts.remaining(readableNumber(Number(answer.remaining)))}</Text>
      )}
      <Text size="sm" c="dimmed">
        {texts.milliseconds(readableNumber(Math.round(answer.milliseconds)))}
      </Text>
    </Group>
    <Code text={indented(answer.text)} label={texts.answer} />
  </Section>
)

function Outcome({ answer }: { answer: Answer }) {
  const { isError, text } = answerBadge(answer)
  return <StatusBadge tone={isError ? 'bad' : 'good'}>{text}</StatusBadge>
}

export const CallFailure = ({ error }: { error: unknown }) => (
  <Alert color="red" role="alert" title={texts.failed}>
    <Text size="sm">{failureText(error)}</Text>
  </Alert>
)
