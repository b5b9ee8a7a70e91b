import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { buyer, shared } from '../../texts'
import { transactionUrl } from '../../ui/explorer'
import { readableNumber, shortened } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { Section } from '../../ui/section'
import { useWallet } from '../wallets/wallet-context'
import { failureTexts } from './failure-texts'
import { isOf, isUndecided, type Purchase, type PurchaseStatus, statusOf } from './purchase'
import { useIsOnline, usePurchases } from './purchase-context'
import { stepsOf } from './purchase-steps'
import { StepList } from './step-list'

const texts = buyer.purchase

/** What a purchase has come to, and what to do. `isPressed`: the reader has just begun it here. */
export function PurchasePanel({ purchase, isPressed }: { purchase: Purchase; isPressed: boolean }) {
  const { plan, record, bought, address } = purchase
  const status = statusOf(purchase, useIsOnline())
  const { connected } = useWallet()
  const isOwn = connected !== undefined && isOf(purchase, connected)
  const transaction = bought?.transaction ?? record?.transaction ?? undefined
  const panel = useRef<HTMLDivElement>(null)
  // The button that was pressed cannot be pressed now, and so has lost the focus.
  useEffect(() => {
    if (isPressed) panel.current?.focus()
  }, [isPressed, status])

  return (
    <div ref={panel} tabIndex={-1} role="group" aria-label={texts.title(plan.plan_name)}>
      <Section title={texts.title(plan.plan_name)}>
        <Stack gap="sm">
          {!isOwn && <Text size="sm">{texts.ofWallet(shortened(address))}</Text>}
          <Steps purchase={purchase} status={status} />
          {transaction !== undefined && (
            <Group gap="xs">
              <Text size="sm">{texts.transaction}</Text>
              <Identifier value={transaction} href={transactionUrl(plan.chain_id, transaction)} />
            </Group>
          )}
          <Outcome purchase={purchase} status={status} />
          <Actions purchase={purchase} status={status} isOwn={isOwn} />
        </Stack>
      </Section>
    </div>
  )
}

const outcomes: Partial<Record<PurchaseStatus, 'bought' | 'failed'>> = {
  credited: 'bought',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed',
}

function Steps({ purchase, status }: { purchase: Purchase; status: PurchaseStatus }) {
  if (status === 'elsewhere' || status === 'busy') return null
  const { record, isPriced, isSigned } = purchase
  const payment = record ?? undefined
  const steps = stepsOf({ isPriced, isSigned, payment, outcome: outcomes[status] ?? 'open' })
  const textOf = (step: (typeof steps)[number]['step']) => {
    if (step === 'confirm' && payment?.confirmations != null)
      return texts.confirmations(payment.confirmations, payment.required_confirmations ?? 1)
    return (
      (step === 'broadcast' && texts.broadcast[status as keyof typeof texts.broadcast]) ||
      texts.steps[step].text
    )
  }
  return (
    <StepList
      steps={steps.map(({ step, state }) => ({ name: texts.steps[step].name, state, text: textOf(step) }))}
    />
  )
}

const colors: Partial<Record<PurchaseStatus, string>> = {
  credited: 'green',
  refused: 'red',
  failed: 'red',
  disputed: 'red',
  lost: 'red',
}

function Outcome({ purchase, status }: { purchase: Purchase; status: PurchaseStatus }) {
  const { record, error, bought, isEarlier, plan } = purchase
  if (status === 'asked' || status === 'signed') return null
  const { title, text } = texts.outcomes[status]
  const credits = readableNumber(bought?.credits ?? record?.credits ?? plan.credits)
  const details =
    status === 'credited'
      ? isEarlier
        ? texts.boughtEarlier(credits)
        : texts.bought(credits)
      : status === 'known' || status === 'disputed' || status === 'refused'
        ? (record?.next ?? text)
        : text
  const causes =
    (status === 'failed' || status === 'refused') && error !== undefined ? failureTexts(error) : []
  return (
    <Alert
      color={colors[status] ?? 'yellow'}
      role={colors[status] === 'red' ? 'alert' : 'status'}
      title={title}
    >
      {details !== '' && <Text size="sm">{details}</Text>}
      {causes.map((cause) => (
        <Text key={cause} size="sm" mt={4}>
          {cause}
        </Text>
      ))}
    </Alert>
  )
}

const resumable: ReadonlySet<PurchaseStatus> = new Set(['unsent', 'unknown', 'known'])
const repeatable: ReadonlySet<PurchaseStatus> = new Set([
  'refused',
  'failed',
  'cancelled',
  'elsewhere',
  'busy',
  'expired',
])

/** At the reader's own risk, who has read why. */
const isDismissable: ReadonlySet<PurchaseStatus> = new Set(['lost', 'disputed'])

type ActionProps = { purchase: Purchase; status: PurchaseStatus; isOwn: boolean }

function Actions({ purchase, status, isOwn }: ActionProps) {
  const { connected } = useWallet()
  const { buy, resume, cancel, dismiss } = usePurchases()
  const { key, plan, address, nonce, isRunning, isOpen } = purchase
  if (status === 'asked')
    return (
      <Group gap="xs">
        <Button variant="default" onClick={() => cancel(key)}>
          {shared.cancel}
        </Button>
        <Text size="sm" c="dimmed">
          {texts.cancelText}
        </Text>
      </Group>
    )
  const isResumable = !isRunning && resumable.has(status)
  const isRepeatable = !isRunning && repeatable.has(status)
  /** The payment that was refused may have been sent again, and taken, elsewhere: no other one is made in its place. */
  function repeat() {
    if (!connected) return
    if (isOpen && nonce !== undefined) resume(connected, plan, { nonce, isSilent: false })
    else buy(connected, plan)
  }
  return (
    <Group gap="xs">
      {(isResumable || isRepeatable) && !isOwn && (
        <Text size="sm">{texts.connectAgain(shortened(address))}</Text>
      )}
      {isResumable && isOwn && (
        <Button onClick={() => connected && resume(connected, plan, { nonce, isSilent: false })}>
          {texts.askAgain}
        </Button>
      )}
      {isRepeatable && isOwn && <Button onClick={repeat}>{shared.retry}</Button>}
      {status === 'credited' && (
        <Anchor component={Link} href="/playground">
          {texts.tryIt}
        </Anchor>
      )}
      {(isDismissable.has(status) || !isUndecided(purchase)) && (
        <Button variant="default" onClick={() => dismiss(key)}>
          {shared.close}
        </Button>
      )}
    </Group>
  )
}
