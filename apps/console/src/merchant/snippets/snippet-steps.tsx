import { Anchor, Stack, Text, Title } from '@mantine/core'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Code } from '../../ui/code'
import { type Snippet } from './snippet'

const { steps } = merchant.snippets

export const SnippetSteps = ({ snippet }: { snippet: Snippet }) => (
  <Stack gap="lg">
    <Stack gap={6}>
      <Title order={2}>{steps.install}</Title>
      {snippet.note !== undefined && (
        <Text size="sm" c="dimmed">
          {snippet.note}
        </Text>
      )}
      <Code label={steps.install} text={snippet.install} />
    </Stack>
    <Stack gap={6}>
      <Title order={2}>{steps.paste(snippet.file)}</Title>
      <Code label={snippet.file} text={snippet.code} />
    </Stack>
    <Stack gap={6}>
      <Title order={2}>{steps.run}</Title>
      <Text size="sm" c="dimmed">
        {steps.runText}{' '}
        <Anchor component={Link} href="/keys/new" inherit underline="always">
          {merchant.keys.create}
        </Anchor>
      </Text>
      <Code label={steps.run} text={`export CLIENT_ID='client_…'\nexport CLIENT_TOKEN='…'\n${snippet.run}`} />
    </Stack>
    <Stack gap={6}>
      <Title order={2}>{steps.try}</Title>
      <Text size="sm" c="dimmed">
        {steps.tryText}
      </Text>
      <Code label={steps.try} text="curl -i http://127.0.0.1:4021/weather" />
    </Stack>
  </Stack>
)
