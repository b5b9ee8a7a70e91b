import { type ClientKey } from '@tollgate/protocol'
import { Anchor, Group, Text } from '@mantine/core'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { ConfirmButton } from '../../ui/confirm-button'
import { readableNumber } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { isolated } from '../../ui/isolated'
import { type Column } from '../../ui/rows'
import { StatusBadge } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { writeFilters } from '../settlements/filters'

const texts = merchant.keys
const { columns } = texts

const scopesOf = (scope: string): string => (scope === '' ? texts.allScopes : scope.split(',').join(', '))

function limitsOf({ payTo, maxFeesPerDay, maxPaymentsPerMinute }: ClientKey): string {
  const limits = [
    payTo !== undefined && texts.limits.recipients(payTo.length),
    maxPaymentsPerMinute !== undefined && texts.limits.perMinute(readableNumber(maxPaymentsPerMinute)),
    maxFeesPerDay !== undefined && texts.limits.fees(readableNumber(BigInt(maxFeesPerDay))),
  ]
  return limits.filter((limit) => limit !== false).join(' · ') || '–'
}

function Expiry({ at }: { at: string | null }) {
  if (at === null) return texts.never
  if (Date.parse(at) < Date.now()) return <StatusBadge tone="bad">{texts.expired}</StatusBadge>
  return <Time at={at} />
}

export const keyColumns = (revoke: (clientId: string) => Promise<void>): Column<ClientKey>[] => [
  {
    title: columns.title,
    width: 'minmax(10rem, 1fr)',
    cell: ({ title, clientId }) => (
      <Anchor
        component={Link}
        href={`/settlements?${writeFilters({ clientId })}`}
        title={texts.toSettlements}
      >
        {isolated(title)}
      </Anchor>
    ),
  },
  { title: columns.id, width: '11rem', cell: ({ clientId }) => <Identifier value={clientId} /> },
  {
    title: columns.scope,
    width: '10rem',
    cell: ({ scope }) => (
      <Text size="sm" truncate title={scopesOf(scope)}>
        {scopesOf(scope)}
      </Text>
    ),
  },
  {
    title: columns.limits,
    width: '10rem',
    cell: (key) => (
      <Text size="sm" truncate title={limitsOf(key)}>
        {limitsOf(key)}
      </Text>
    ),
  },
  { title: columns.createdAt, width: '8.25rem', cell: ({ createdAt }) => <Time at={createdAt} /> },
  { title: columns.expiresAt, width: '7rem', cell: ({ expiresAt }) => <Expiry at={expiresAt} /> },
  {
    title: columns.actions,
    width: '6rem',
    cell: ({ clientId, title }) => (
      <Group gap={4}>
        <ConfirmButton
          label={texts.revoke}
          text={texts.revokeText(title)}
          action={texts.revoke}
          size="compact-xs"
          run={() => revoke(clientId)}
        />
      </Group>
    ),
  },
]
