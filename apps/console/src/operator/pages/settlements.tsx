import { Anchor, Group, Select } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { type OperatorSettlement } from '@tollgate/protocol'
import { Link, useSearchParams } from 'wouter'
import { withQuery } from '../../api/api'
import { operator } from '../../texts'
import { Amount } from '../../ui/amount'
import { Empty } from '../../ui/empty'
import { transactionUrl } from '../../ui/explorer'
import { Identifier } from '../../ui/identifier'
import { Page } from '../../ui/page'
import { PagedRows } from '../../ui/paged-rows'
import { type Column } from '../../ui/rows'
import { StatusBadge } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { useAdmin } from '../admin'

const texts = operator.settlements
const PAGE_ROWS = 100

export const NextStep = ({ step }: { step: OperatorSettlement['nextStep'] }) => (
  <span>{texts.steps[step]}</span>
)

const columns: Column<OperatorSettlement>[] = [
  {
    title: texts.id,
    width: 'minmax(5rem, 0.5fr)',
    cell: ({ id }) => (
      <Anchor component={Link} href={`/operator/settlements/${id}`}>
        {id}
      </Anchor>
    ),
  },
  { title: texts.network, width: 'minmax(8rem, 0.8fr)', cell: ({ network }) => network },
  {
    title: texts.state,
    width: 'minmax(8rem, 0.7fr)',
    cell: ({ state, isStuck }) => (
      <StatusBadge tone={isStuck ? 'bad' : 'waiting'}>{isStuck ? texts.stuck(state) : state}</StatusBadge>
    ),
  },
  { title: texts.age, width: 'minmax(9.5rem, 0.8fr)', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: texts.amount,
    width: 'minmax(8rem, 0.8fr)',
    isRight: true,
    cell: ({ amount, decimals, symbol }) => <Amount amount={amount} decimals={decimals} symbol={symbol} />,
  },
  { title: texts.next, width: 'minmax(14rem, 1.6fr)', cell: ({ nextStep }) => <NextStep step={nextStep} /> },
  {
    title: texts.problem,
    width: 'minmax(12rem, 1.2fr)',
    cell: ({ lastError, errorReason }) => lastError ?? errorReason ?? '',
  },
  {
    title: texts.transaction,
    width: 'minmax(13rem, 1fr)',
    cell: ({ transactionHash, network }) =>
      transactionHash === null ? (
        ''
      ) : (
        <Identifier value={transactionHash} href={transactionUrl(network, transactionHash)} />
      ),
  },
]

type Found = { settlements: OperatorSettlement[]; next: string | null }

export function Settlements() {
  const { request } = useAdmin()
  const [search, setSearch] = useSearchParams()
  const state = search.get('state') ?? 'open'
  const query = useInfiniteQuery({
    queryKey: ['admin', 'settlements', state],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      request<Found>(
        'GET',
        withQuery('/settlements', { state, limit: PAGE_ROWS, cursor: pageParam }),
        undefined,
        signal,
      ),
    getNextPageParam: ({ next }) => next ?? undefined,
    refetchInterval: 10_000,
    select: ({ pages }) => ({ pages: pages.map(({ settlements }) => settlements) }),
  })
  return (
    <Page title={texts.title} text={texts.text}>
      <Group>
        <Select
          label={texts.show}
          data={Object.entries(texts.states).map(([value, label]) => ({ value, label }))}
          value={state}
          onChange={(chosen) => setSearch({ state: chosen ?? 'open' })}
          allowDeselect={false}
        />
      </Group>
      <PagedRows
        label={texts.title}
        pages={query}
        keyOf={({ id }) => id}
        columns={columns}
        empty={<Empty title={texts.none} />}
      />
    </Page>
  )
}
