import { Alert, Anchor, Button, Group, Stack, Text } from '@mantine/core'
import { useEffect, useRef } from 'react'
import { Link } from 'wouter'
import { buyer, shared } from '../../texts'
import { transactionUrl } from '../../ui/explorer'
import { shortened } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { Section } from '../../ui/section'
import { useWallet } from '../wallets/wallet-context'
import { isOf, isUndecided, type Purchase } from './purchase'
import { usePurchases } from './purchase-context'
import { outcomeOf, type PurchaseOutcome } from './purchase-outcome'
import { stepsOf } from './purchase-steps'
import { StepList } from './step-list'
import { useMoment } from './use-moment'

const texts = buyer.purchase

/** What a purchase has come to, and what to do. `isPressed`: the reader has just begun it here. */
export function PurchasePanel({ purchase, isPressed }: { purchase: Purchase; isPressed: boolean }) {
  const { plan, record, run, address } = purchase
  const moment = useMoment()
  const outcome = outcomeOf(purchase, moment)
  const { status } = outcome
  const { connected } = useWallet()
  const isOwn = connected !== undefined && isOf(purchase, connected)
  const transaction = run.is === 'done' ? run.bought.transaction : (record?.transaction ?? undefined)
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
          <Outcome outcome={outcome} />
          <Actions purchase={purchase} outcome={outcome} isOwn={isOwn} now={moment.now} />
        </Stack>
      </Section>
    </div>
  )
}

type Status = PurchaseOutcome['status']

const ends: Partial<Record<Status, 'bought' | 'failed'>> = {
  credited: 'bought',
  refused: 'failed',
  failed: 'failed',
  cancelled: 'failed',
  expired: 'failed',
}

function Steps({ purchase, status }: { purchase: Purchase; status: Status }) {
  if (status === 'elsewhere' || status === 'busy') return null
  const { record, stage } = purchase
  const payment = record ?? undefined
  const steps = stepsOf({ stage, payment, outcome: ends[status] ?? 'open' })
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

function Outcome({ outcome }: { outcome: PurchaseOutcome }) {
  const { color, title, text, countdown, mayClose } = outcome
  // It changes each second, which a live region would read aloud.
  const facts = [countdown, mayClose].filter((fact) => fact !== undefined)
  return (
    <>
      {title !== undefined && (
        <Alert color={color} role={color === 'red' ? 'alert' : 'status'} title={title}>
          <Text size="sm">{text}</Text>
        </Alert>
      )}
      {facts.map((fact) => (
        <Text key={fact} size="sm">
          {fact}
        </Text>
      ))}
    </>
  )
}

type ActionProps = { purchase: Purchase; outcome: PurchaseOutcome; isOwn: boolean; now: number }

const names = {
  'ask-again': texts.askAgain,
  'same-again': shared.retry,
  buy: shared.retry,
}

function Actions({ purchase, outcome: { action }, isOwn, now }: ActionProps) {
  const { connected } = useWallet()
  const { buy, resume, cancel, dismiss } = usePurchases()
  const { key, plan, address, nonce, validUntil } = purchase
  if (action === 'cancel')
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
  function act() {
    if (!connected) return
    if (action === 'buy') buy(connected, plan)
    else resume(connected, plan, { nonce, validUntil, isSilent: false })
  }
  const name = action !== undefined && action in names ? names[action as keyof typeof names] : undefined
  return (
    <Group gap="xs">
      {name !== undefined && !isOwn && <Text size="sm">{texts.connectAgain(shortened(address))}</Text>}
      {name !== undefined && isOwn && <Button onClick={act}>{name}</Button>}
      {action === 'same-again' && isOwn && (
        <Text size="sm" c="dimmed">
          {texts.sameAgain}
        </Text>
      )}
      {action === 'use-credits' && (
        <Anchor component={Link} href="/playground">
          {texts.tryIt}
        </Anchor>
      )}
      {(action === 'dismiss' || !isUndecided(purchase, now)) && (
        <Button variant="default" onClick={() => dismiss(key)}>
          {shared.close}
        </Button>
      )}
    </Group>
  )
}
