import { Alert, Text } from '@mantine/core'
import { type OperatorSigner } from '@tollgate/protocol'
import { operator } from '../../texts'
import { addressUrl } from '../../ui/explorer'
import { Identifier } from '../../ui/identifier'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { type Column, Rows } from '../../ui/rows'
import { StatusBadge } from '../../ui/status-badge'
import { useAdminData } from '../admin'
import { NativeAmount } from '../native-amount'

const texts = operator.signers

const native = ({ network, nativeSymbol, nativeDecimals }: OperatorSigner, amount: string | null) => (
  <NativeAmount network={network} amount={amount} symbol={nativeSymbol} decimals={nativeDecimals} />
)

function stateOf({ error, isLow, leader, isConfigured }: OperatorSigner) {
  if (error !== null) return <StatusBadge tone="bad">{texts.unknown}</StatusBadge>
  if (!isConfigured) return <StatusBadge tone="waiting">{texts.noKey}</StatusBadge>
  if (isLow === true) return <StatusBadge tone="bad">{texts.low}</StatusBadge>
  if (leader === null) return <StatusBadge tone="bad">{texts.noLeader}</StatusBadge>
  return <StatusBadge tone="good">{texts.good}</StatusBadge>
}

const columns: Column<OperatorSigner>[] = [
  { title: texts.network, width: 'minmax(8.25rem, 0.8fr)', cell: ({ network }) => network },
  {
    title: texts.address,
    width: '12.5rem',
    cell: ({ address, network }) => <Identifier value={address} href={addressUrl(network, address)} />,
  },
  { title: texts.state, width: '11rem', cell: stateOf },
  {
    title: texts.balance,
    width: 'minmax(9.5rem, 1fr)',
    isRight: true,
    cell: (signer) => native(signer, signer.balance),
  },
  {
    title: texts.threshold,
    width: 'minmax(8.25rem, 0.7fr)',
    isRight: true,
    cell: (signer) => native(signer, signer.threshold),
  },
  {
    title: texts.pending,
    width: '5.5rem',
    isRight: true,
    cell: ({ pendingTransactions }) => pendingTransactions ?? '?',
  },
  {
    title: texts.leader,
    width: 'minmax(6.5rem, 1.2fr)',
    cell: ({ leader }) => <span title={leader ?? ''}>{leader ?? texts.none}</span>,
  },
]

export function Signers() {
  const signers = useAdminData<{ replica: string; signers: OperatorSigner[]; error: string | null }>(
    '/signers',
  )
  return (
    <Page title={texts.title} text={texts.text}>
      <Loaded query={signers}>
        {(found) => (
          <>
            {found.error !== null && <Alert color="red">{found.error}</Alert>}
            <Rows
              label={texts.title}
              rows={found.signers}
              keyOf={({ network, address }) => `${network} ${address}`}
              columns={columns}
            />
            <Text size="sm" c="dimmed">
              {operator.overview.replica(found.replica)}
            </Text>
          </>
        )}
      </Loaded>
    </Page>
  )
}
