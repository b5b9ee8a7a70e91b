import { Badge, Button, Card, Group, SimpleGrid, Stack, Text, Title } from '@mantine/core'
import { type Plan } from '@tollgate/wallet'
import { type ReactNode } from 'react'
import { buyer } from '../../texts'
import { Amount } from '../../ui/amount'
import { Empty } from '../../ui/empty'
import { exactDecimal, readableNumber } from '../../ui/format'
import { isolated } from '../../ui/isolated'
import { Loaded } from '../../ui/loaded'
import { usePlans } from '../data'
import { ConnectButton } from '../wallets/connect-button'
import { useWallet } from '../wallets/wallet-context'

/** Plans with their prices. `onBuy`: what the button of a plan does that the connected wallet can pay, unless it `isBusy`. */
export function PlanList({
  onBuy,
  isBusy,
}: {
  onBuy?: (plan: Plan) => void
  isBusy?: (plan: Plan) => boolean
}) {
  const plans = usePlans()
  const { connected } = useWallet()

  function actionOf(plan: Plan): ReactNode {
    if (!connected) return <ConnectButton />
    if (plan.ecosystem !== connected.ecosystem)
      return (
        <Text size="sm" c="dimmed">
          {buyer.plans.otherWallet[plan.ecosystem === 'evm' ? 'evm' : 'cosmos']}
        </Text>
      )
    if (!onBuy) return null
    return (
      <Button
        disabled={isBusy?.(plan) === true}
        onClick={() => onBuy(plan)}
        aria-label={buyer.plans.buyPlan(plan.credits, plan.plan_name)}
      >
        {buyer.plans.buy(plan.credits)}
      </Button>
    )
  }

  return (
    <Loaded query={plans}>
      {(all) =>
        all.length === 0 ? (
          <Empty title={buyer.plans.none} />
        ) : (
          <SimpleGrid cols={{ base: 1, sm: 2 }}>
            {all.map((plan) => (
              <PlanCard key={plan.id} plan={plan} action={actionOf(plan)} />
            ))}
          </SimpleGrid>
        )
      }
    </Loaded>
  )
}

const PlanCard = ({ plan, action }: { plan: Plan; action: ReactNode }) => (
  <Card withBorder component="article" aria-label={plan.plan_name}>
    <Stack gap="xs" h="100%" justify="space-between">
      <Stack gap={4}>
        <Group justify="space-between" wrap="nowrap" align="flex-start">
          <Title order={2} miw={0} style={{ overflowWrap: 'anywhere' }}>
            {isolated(plan.plan_name)}
          </Title>
          <Badge variant="light" color="gray" tt="none" className="status-badge">
            {plan.network}
          </Badge>
        </Group>
        <Text fz={26} fw={700}>
          <Amount amount={plan.amount} decimals={plan.decimals} symbol={plan.display_denom} />
        </Text>
        <Text c="dimmed">
          {buyer.plans.credits(readableNumber(plan.credits))} ·{' '}
          {buyer.plans.perCall(exactDecimal(plan.price_per_credit), plan.display_denom)}
        </Text>
      </Stack>
      <Group>{action}</Group>
    </Stack>
  </Card>
)
