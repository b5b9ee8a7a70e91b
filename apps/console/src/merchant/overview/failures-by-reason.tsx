import { Box, Group, Stack, Text } from '@mantine/core'
import { merchant } from '../../texts'
import { readableNumber } from '../../ui/format'
import { Section } from '../../ui/section'
import { reasonText } from '../settlements/reason'
import { type DayMetrics, failuresOf } from './metrics'

const texts = merchant.overview.failures

export function FailuresByReason({ metrics }: { metrics: readonly DayMetrics[] }) {
  const failures = failuresOf(metrics)
  const most = failures[0]?.failed ?? 1
  return (
    <Section title={texts.title}>
      <Text size="sm" c="dimmed" mb="sm">
        {texts.counted}
      </Text>
      {failures.length === 0 ? (
        <Text size="sm" c="dimmed">
          {texts.none}
        </Text>
      ) : (
        <Stack gap="sm" component="ul" className="plain-list">
          {failures.map(({ reason, failed }) => (
            <li key={reason}>
              <Group justify="space-between" gap="sm" wrap="nowrap">
                <Text size="sm">{reasonText(reason)}</Text>
                <Text size="sm" fw={600} className="amount">
                  {readableNumber(failed)}
                </Text>
              </Group>
              <Box className="share" aria-hidden mt={4}>
                <Box className="share-part" w={`${Math.max(1, (100 * failed) / most)}%`} />
              </Box>
              <Text size="xs" c="dimmed" className="mono" mt={2} style={{ overflowWrap: 'anywhere' }}>
                {reason}
              </Text>
            </li>
          ))}
        </Stack>
      )}
    </Section>
  )
}
