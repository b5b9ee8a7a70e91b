import { Button, Container, Stack, Text, Title } from '@mantine/core'
import { Component, type ReactNode } from 'react'
import { messageOf } from '../api/api-error'
import { shared } from '../texts'
import { Code } from '../ui/code'

type Props = { children: ReactNode }
type State = { error: unknown }

/** React offers it as a class only. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <Container size="sm" py="xl" component="main">
        <Stack role="alert">
          <Title order={1}>{shared.crashed.title}</Title>
          <Text>{shared.crashed.text}</Text>
          <Code label={shared.crashed.error} text={messageOf(error)} />
          <Button onClick={() => window.location.reload()}>{shared.crashed.reload}</Button>
        </Stack>
      </Container>
    )
  }
}
