import { Anchor, Stack, Text } from '@mantine/core'
import { useInfiniteQuery } from '@tanstack/react-query'
import { type OperatorSettlement } from '@tollgate/protocol'
import { Link, useSearchParams } from 'wouter'
import { withQuery } from '../../api/api'
import { reasonText } from '../../merchant/settlements/reason'
import { operator } from '../../texts'
import { Amount } from '../../ui/amount'
import { Empty } from '../../ui/empty'
import { addressUrl, transactionUrl } from '../../ui/explorer'
import { Identifier } from '../../ui/identifier'
import { longList } from '../../ui/long-list'
import { Page } from '../../ui/page'
import { PagedRows } from '../../ui/paged-rows'
import { RefreshButton } from '../../ui/refresh-button'
import { type Column } from '../../ui/rows'
import { StatusBadge } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { useAdmin } from '../admin'
import { type Filters, isSearched, readFilters, toneOf, toQuery } from '../settlement-filters'
import { SettlementSearch } from './settlement-search'

const texts = operator.settlements
const PAGE_ROWS = 100

export const NextStep = ({ step }: { step: OperatorSettlement['nextStep'] }) => (
  <span>{texts.steps[step]}</span>
)

const problemOf = ({ lastError, errorReason }: OperatorSettlement) =>
  lastError ?? (errorReason === null ? '' : reasonText(errorReason))

const next: Column<OperatorSettlement> = {
  title: texts.next,
  width: '13rem',
  isWrapped: true,
  cell: ({ nextStep }) => <NextStep step={nextStep} />,
}

const payerColumn: Column<OperatorSettlement> = {
  title: texts.payer,
  width: '12.5rem',
  cell: ({ payer, network }) => <Identifier value={payer} href={addressUrl(network, payer)} />,
}

/** A page of 1120 pixels cuts no column but the problem. */
const columnsWith = (own: Column<OperatorSettlement>): readonly Column<OperatorSettlement>[] => [
  {
    title: texts.id,
    width: '3.75rem',
    cell: ({ id }) => (
      <Anchor component={Link} href={`/operator/settlements/${id}`}>
        {id}
      </Anchor>
    ),
  },
  { title: texts.network, width: '7.5rem', cell: ({ network }) => <span title={network}>{network}</span> },
  {
    title: texts.state,
    width: '8.75rem',
    cell: ({ state, isStuck }) => (
      <StatusBadge tone={toneOf({ state, isStuck })}>{isStuck ? texts.stuck(state) : state}</StatusBadge>
    ),
  },
  { title: texts.age, width: '8.5rem', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: texts.amount,
    width: '10.25rem',
    isRight: true,
    cell: ({ amount, decimals, symbol }) => <Amount amount={amount} decimals={decimals} symbol={symbol} />,
  },
  own,
  {
    title: texts.transaction,
    width: '12.5rem',
    cell: ({ transactionHash, network }) =>
      transactionHash === null ? (
        ''
      ) : (
        <Identifier value={transactionHash} href={transactionUrl(network, transactionHash)} />
      ),
  },
  {
    title: texts.problem,
    width: 'minmax(5rem, 1fr)',
    isWrapped: true,
    cell: (settlement) => <span title={problemOf(settlement)}>{problemOf(settlement)}</span>,
  },
]
const openColumns = columnsWith(next)
const foundColumns = columnsWith(payerColumn)

type Found = { settlements: OperatorSettlement[]; next: string | null }

function useSettlements(filters: Filters) {
  const { request } = useAdmin()
  return useInfiniteQuery({
    queryKey: ['admin', 'settlements', filters],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      request<Found>(
        'GET',
        withQuery('/settlements', { ...toQuery(filters), limit: PAGE_ROWS, cursor: pageParam }),
        undefined,
        signal,
      ),
    getNextPageParam: ({ next: cursor }) => cursor ?? undefined,
    select: ({ pages }) => ({ pages: pages.map(({ settlements }) => settlements) }),
    ...longList,
  })
}

export function Settlements() {
  const [search, setSearch] = useSearchParams()
  const filters = readFilters(search)
  const query = useSettlements(filters)
  const apply = (wanted: Filters) =>
    setSearch(Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== '')))
  return (
    <Page title={texts.title} text={texts.text} actions={<RefreshButton pages={query} />}>
      <Stack gap="md">
        <SettlementSearch filters={filters} apply={apply} />
        <PagedRows
          label={texts.title}
          pages={query}
          keyOf={({ id }) => id}
          columns={isSearched(filters) ? foundColumns : openColumns}
          empty={<NoSettlements isFound={isSearched(filters)} />}
        />
      </Stack>
    </Page>
  )
}

const NoSettlements = ({ isFound }: { isFound: boolean }) => (
  <Empty title={isFound ? texts.noneFound : texts.none}>
    {isFound && <Text size="sm">{texts.refused}</Text>}
  </Empty>
)
