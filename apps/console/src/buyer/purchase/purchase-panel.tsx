import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { isTollgateError } from '@tollgate/wallet'
import { Link } from 'wouter'
import { messageOf } from '../../api/api-error'
import { buyer, shared } from '../../texts'
import { transactionUrl } from '../../ui/explorer'
import { readableNumber } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { Section } from '../../ui/section'
import { stepsOf } from './purchase-steps'
import { StepList } from './step-list'
import { type usePurchase } from './use-purchase'

type Props = {
  purchase: NonNullable<ReturnType<typeof usePurchase>['state']>
  retry: () => void
  dismiss: () => void
}

/** Each step of a purchase as it happens, and what to do if it stops. */
export function PurchasePanel({ purchase, retry, dismiss }: Props) {
  const { plan, payment, bought, outcome } = purchase
  const transaction = bought?.transaction ?? payment?.transaction ?? undefined
  const texts = buyer.purchase
  return (
    <Section title={texts.title(plan.plan_name)}>
      <Stack gap="sm">
        <StepList
          steps={stepsOf(purchase).map(({ step, state }) => ({
            name: texts.steps[step].name,
            state,
            text:
              step === 'confirm' && payment?.confirmations != null
                ? texts.confirmations(payment.confirmations, payment.required_confirmations ?? 1)
                : texts.steps[step].text,
          }))}
        />
        {transaction !== undefined && (
          <Group gap="xs">
            <Text size="sm">{texts.transaction}</Text>
            <Identifier value={transaction} href={transactionUrl(plan.chain_id, transaction)} />
          </Group>
        )}
        <Outcome purchase={purchase} />
        {(outcome !== 'open' || purchase.error !== undefined) && (
          <Group gap="xs">
            {bought === undefined && (
              <Button onClick={retry}>{purchase.isPending ? texts.askAgain : shared.retry}</Button>
            )}
            {bought !== undefined && (
              <Anchor component={Link} href="/playground">
                {texts.tryIt}
              </Anchor>
            )}
            <Button variant="default" onClick={dismiss}>
              {shared.close}
            </Button>
          </Group>
        )}
      </Stack>
    </Section>
  )
}

function Outcome({ purchase: { bought, error, isPending, payment } }: Pick<Props, 'purchase'>) {
  const texts = buyer.purchase
  if (bought)
    return (
      <Alert color="green" role="status" title={texts.bought.title}>
        {texts.bought.text(readableNumber(bought.credits))}
      </Alert>
    )
  if (isPending)
    return (
      <Alert color="yellow" role="status" title={texts.pending.title}>
        {payment?.next ?? texts.pending.text}
      </Alert>
    )
  if (error === undefined) return null
  return (
    <Alert color="red" role="alert" title={texts.failed.title}>
      <Text size="sm">{messageOf(error)}</Text>
      <Text size="sm" mt={4}>
        {payment?.next ?? (isTollgateError(error) ? adviceOf(error) : '')}
      </Text>
    </Alert>
  )
}

/** The package's own advice is for programmers. */
const adviceOf = ({ code }: { code: string }): string =>
  (buyer.purchase.advice as Record<string, string>)[code] ?? buyer.purchase.advice.OTHER
