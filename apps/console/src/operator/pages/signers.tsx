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
  { title: texts.network, width: 'minmax(8rem, 0.8fr)', cell: ({ network }) => network },
  {
    title: texts.address,
    width: 'minmax(13rem, 1fr)',
    cell: ({ address, network }) => <Identifier value={address} href={addressUrl(network, address)} />,
  },
  { title: texts.state, width: '10.5rem', cell: stateOf },
  {
    title: texts.balance,
    width: 'minmax(11rem, 1fr)',
    isRight: true,
    cell: (signer) => native(signer, signer.balance),
  },
  {
    title: texts.threshold,
    width: 'minmax(9rem, 0.9fr)',
    isRight: true,
    cell: (signer) => native(signer, signer.threshold),
  },
  {
    title: texts.pending,
    width: 'minmax(6rem, 0.5fr)',
    isRight: true,
    cell: ({ pendingTransactions }) => pendingTransactions ?? '?',
  },
  {
    title: texts.leader,
    width: 'minmax(9rem, 1.2fr)',
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
