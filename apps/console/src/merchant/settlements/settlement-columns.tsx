import { type Settlement } from '@tollgate/protocol'
import { Text } from '@mantine/core'
import { merchant } from '../../texts'
import { Amount } from '../../ui/amount'
import { Identifier } from '../../ui/identifier'
import { isolated } from '../../ui/isolated'
import { type Column } from '../../ui/rows'
import { TimedLink } from '../../ui/timed-link'
import { reasonText } from './reason'
import { StateBadge } from './state-badge'

const { columns } = merchant.settlements

/** What was bought, or why it was not. */
function About({ resource, paymentIdentifier, reason }: Settlement) {
  if (reason !== null)
    return (
      <Text size="sm" className="reason" truncate title={reasonText(reason)}>
        {reasonText(reason)}
      </Text>
    )
  const text = isolated(resource ?? paymentIdentifier ?? '')
  return (
    <Text size="sm" truncate title={text}>
      {text || '–'}
    </Text>
  )
}

export const settlementColumns: readonly Column<Settlement>[] = [
  {
    title: columns.createdAt,
    width: '8.5rem',
    cell: ({ id, createdAt }) => (
      <TimedLink href={`/settlements/${id}`} name={merchant.settlements.open(id)} at={createdAt} />
    ),
  },
  {
    title: columns.amount,
    width: '9rem',
    isRight: true,
    cell: ({ amount, decimals, symbol }) => <Amount amount={amount} decimals={decimals} symbol={symbol} />,
  },
  { title: columns.state, width: '6.5rem', cell: ({ state }) => <StateBadge state={state} /> },
  { title: columns.payer, width: '12rem', cell: ({ payer }) => <Identifier value={payer} /> },
  { title: columns.network, width: '8.5rem', cell: ({ network }) => network },
  { title: columns.about, width: 'minmax(13rem, 1fr)', cell: (settlement) => <About {...settlement} /> },
]
