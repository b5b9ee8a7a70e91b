import { type Settlement } from '@tollgate/protocol'
import { Anchor, Group, Stack, Text } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Amount } from '../../ui/amount'
import { Loaded } from '../../ui/loaded'
import { Section } from '../../ui/section'
import { TimedLink } from '../../ui/timed-link'
import { get } from '../api'
import { StateBadge } from '../settlements/state-badge'

const texts = merchant.overview.latest
const INTERVAL_MS = 15_000

export function LatestSettlements() {
  const latest = useQuery({
    queryKey: ['latest'],
    queryFn: async ({ signal }) =>
      (await get<{ settlements: Settlement[] }>('/settlements?limit=5', signal)).settlements,
    refetchInterval: INTERVAL_MS,
  })
  return (
    <Section
      title={texts.title}
      actions={
        <Anchor component={Link} href="/settlements" size="sm">
          {texts.toList}
        </Anchor>
      }
    >
      <Loaded query={latest}>
        {(settlements) =>
          settlements.length === 0 ? (
            <Text size="sm" c="dimmed">
              {texts.none}
            </Text>
          ) : (
            <Stack gap="xs" component="ul" className="plain-list">
              {settlements.map(({ id, createdAt, amount, decimals, symbol, state }) => (
                <Group key={id} component="li" justify="space-between" gap="sm">
                  <TimedLink
                    href={`/settlements/${id}`}
                    name={merchant.settlements.open(id)}
                    at={createdAt}
                  />
                  <Group gap="sm">
                    <Text size="sm" component="span">
                      <Amount amount={amount} decimals={decimals} symbol={symbol} />
                    </Text>
                    <StateBadge state={state} />
                  </Group>
                </Group>
              ))}
            </Stack>
          )
        }
      </Loaded>
    </Section>
  )
}
