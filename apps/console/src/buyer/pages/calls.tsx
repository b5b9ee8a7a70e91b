import { Group } from '@mantine/core'
import { type UsageRecord } from '@tollgate/wallet'
import { buyer } from '../../texts'
import { CsvButton } from '../../ui/csv-button'
import { Empty } from '../../ui/empty'
import { readableNumber } from '../../ui/format'
import { Page } from '../../ui/page'
import { PagedRows } from '../../ui/paged-rows'
import { RefreshButton } from '../../ui/refresh-button'
import { type Column } from '../../ui/rows'
import { StatusBadge } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { callOutcome } from '../call-outcome'
import { useCalls, useChainName } from '../data'
import { FREE_PLAN_ID } from '../free-plan'
import { WithWallet } from '../wallets/with-wallet'

const CSV_ROWS = 10_000
const texts = buyer.calls

const columns: Column<UsageRecord>[] = [
  { title: texts.time, width: 'minmax(9rem, 1fr)', cell: ({ created_at }) => <Time at={created_at} /> },
  { title: texts.chain, width: 'minmax(8rem, 1fr)', cell: ({ chain_id }) => <ChainName chain={chain_id} /> },
  {
    title: texts.method,
    width: 'minmax(11rem, 1.4fr)',
    cell: ({ rpc_method, transport }) => <span className="mono">{rpc_method ?? transport}</span>,
  },
  {
    title: texts.outcome,
    width: 'minmax(9rem, 1fr)',
    cell: ({ outcome }) => <OutcomeBadge outcome={outcome} />,
  },
  {
    title: texts.latency,
    width: 'minmax(6rem, 0.6fr)',
    isRight: true,
    cell: ({ latency_ms }) => (latency_ms === null ? '' : texts.milliseconds(readableNumber(latency_ms))),
  },
  {
    title: texts.credits,
    width: 'minmax(5rem, 0.5fr)',
    isRight: true,
    cell: ({ credits, pricing_plan_id }) =>
      pricing_plan_id === FREE_PLAN_ID ? texts.free(readableNumber(credits)) : readableNumber(credits),
  },
  { title: texts.key, width: 'minmax(8rem, 1fr)', cell: ({ key_label }) => key_label ?? '' },
]

const ChainName = ({ chain }: { chain: string }) => useChainName()(chain)

function OutcomeBadge({ outcome }: { outcome: string }) {
  const { tone, text } = callOutcome(outcome)
  return <StatusBadge tone={tone}>{text}</StatusBadge>
}

export default function Calls() {
  return (
    <Page title={texts.title} text={texts.text}>
      <WithWallet>{({ address }) => <CallRows address={address} />}</WithWallet>
    </Page>
  )
}

function CallRows({ address }: { address: string }) {
  const pages = useCalls(address)
  return (
    <>
      <Group justify="flex-end" gap="xs">
        <RefreshButton pages={pages} />
        <CsvButton path={`/history/${address}?limit=${CSV_ROWS}`} fileName="calls.csv" />
      </Group>
      <PagedRows
        label={texts.title}
        pages={pages}
        keyOf={({ id }) => String(id)}
        columns={columns}
        empty={<Empty title={texts.none} />}
      />
    </>
  )
}
