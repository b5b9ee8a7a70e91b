import { Alert, Button, Group, Text } from '@mantine/core'
import { IconAlertTriangle } from '@tabler/icons-react'
import { isApiError } from '../api/api-error'
import { shared } from '../texts'
import { ownSentence, sentenceOf } from './sentence-of'

/** Why something failed, in the service's own words, with a way to go on. */
export function Failure({ error, retry }: { error: unknown; retry?: (() => void) | undefined }) {
  return (
    <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={shared.failed.title} role="alert">
      <Text size="sm">{sentenceOf(error)}</Text>
      {isApiError(error) && error.requestId !== undefined && ownSentence(error) === undefined && (
        <Text size="xs" className="mono" mt={4}>
          {shared.failed.requestId(error.requestId)}
        </Text>
      )}
      {retry && (
        <Group mt="xs">
          <Button size="xs" variant="default" onClick={retry}>
            {shared.retry}
          </Button>
        </Group>
      )}
    </Alert>
  )
}
