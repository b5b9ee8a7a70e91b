import { Anchor, Card, Group, SimpleGrid, Stack, Text } from '@mantine/core'
import { type CreditBalance, type Plan } from '@tollgate/wallet'
import { Link } from 'wouter'
import { buyer } from '../../texts'
import { readableNumber } from '../../ui/format'
import { Loaded } from '../../ui/loaded'
import { Section } from '../../ui/section'
import { useCredits, usePlans } from '../data'
import { FREE_PLAN_ID } from '../free-plan'
import { UsageSection } from '../usage/usage-section'
import { RecentPayments } from './recent-payments'

/** The balances, the use and the newest payments of a wallet. */
export default function OverviewOfWallet({ address }: { address: string }) {
  return (
    <Stack gap="lg">
      <Balances address={address} />
      <UsageSection address={address} />
      <RecentPayments address={address} />
    </Stack>
  )
}

function Balances({ address }: { address: string }) {
  const credits = useCredits(address)
  const { data: plans = [] } = usePlans()
  return (
    <Section
      title={buyer.balance.title}
      actions={
        <Anchor component={Link} href="/plans">
          {buyer.balance.buy}
        </Anchor>
      }
    >
      <Loaded query={credits} lines={2}>
        {(balances) =>
          balances.length === 0 ? (
            <Text>{buyer.balance.none}</Text>
          ) : (
            <SimpleGrid cols={{ base: 1, xs: 2, md: 3 }}>
              {balances.map((balance) => (
                <Balance key={balance.pricing_plan_id} balance={balance} plans={plans} />
              ))}
            </SimpleGrid>
          )
        }
      </Loaded>
    </Section>
  )
}

function Balance({ balance, plans }: { balance: CreditBalance; plans: readonly Plan[] }) {
  const { pricing_plan_id: planId, remaining_credits: credits } = balance
  const name =
    planId === FREE_PLAN_ID
      ? buyer.balance.free
      : (plans.find(({ id }) => id === planId)?.plan_name ?? buyer.balance.plan(planId))
  return (
    <Card withBorder padding="sm">
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Group gap={6} align="baseline">
        <Text fz={28} fw={700} className="amount">
          {readableNumber(credits)}
        </Text>
        <Text>{buyer.balance.credits}</Text>
      </Group>
    </Card>
  )
}
