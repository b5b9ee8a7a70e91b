import { type SettlementDetails } from '@tollgate/protocol'
import { Alert, Anchor, Group, Text } from '@mantine/core'
import { IconAlertTriangle, IconArrowLeft, IconClock } from '@tabler/icons-react'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Amount } from '../../ui/amount'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { Status } from '../../ui/status'
import { reasonText } from './reason'
import { SettlementFacts } from './settlement-facts'
import { SettlementTimeline } from './settlement-timeline'
import { SettlementTransactions } from './settlement-transactions'
import { StateBadge } from './state-badge'
import { useSettlement } from './use-settlements'

const texts = merchant.settlement

export function SettlementPage({ id }: { id: string }) {
  const settlement = useSettlement(id)
  return (
    <Page
      title={texts.title(settlement.data?.id ?? id)}
      text={
        <Anchor component={Link} href="/settlements" size="sm">
          <Group gap={4} component="span" display="inline-flex">
            <IconArrowLeft size={14} aria-hidden />
            {texts.toList}
          </Group>
        </Anchor>
      }
    >
      <Loaded query={settlement} lines={8}>
        {(found) => <Details settlement={found} />}
      </Loaded>
    </Page>
  )
}

function Details({ settlement }: { settlement: SettlementDetails }) {
  const { amount, decimals, symbol, state, reason, detail, transactions, timeline } = settlement
  return (
    <>
      <Group gap="md" align="center">
        <Text component="p" fz={{ base: 26, sm: 32 }} fw={650} m={0}>
          <Amount amount={amount} decimals={decimals} symbol={symbol} />
        </Text>
        <StateBadge state={state} />
      </Group>
      {reason !== null && (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={reasonText(reason)}>
          {detail !== null && <Text size="sm">{detail}</Text>}
          <Text size="xs" className="mono">
            {reason}
          </Text>
        </Alert>
      )}
      <Status>
        {state === 'pending' && (
          <Alert color="yellow" icon={<IconClock aria-hidden />} title={texts.pending.title}>
            {texts.pending.text}
          </Alert>
        )}
      </Status>
      {state === 'reversed' && reason === null && (
        <Alert color="red" icon={<IconAlertTriangle aria-hidden />} title={texts.reversed.title}>
          {texts.reversed.text}
        </Alert>
      )}
      <div className="beside">
        <Section title={texts.facts}>
          <SettlementFacts settlement={settlement} />
        </Section>
        <Section title={texts.timeline}>
          <SettlementTimeline timeline={timeline} />
        </Section>
      </div>
      <Section title={texts.transactions.title}>
        <SettlementTransactions network={settlement.network} transactions={transactions} />
      </Section>
    </>
  )
}
