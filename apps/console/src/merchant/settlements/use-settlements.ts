import { type SettlementDetails, type SettlementPage } from '@tollgate/protocol'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { withQuery } from '../../api/api'
import { get } from '../api'
import { longList } from '../../ui/long-list'
import { type Filters, toQuery } from './filters'

const PAGE = 200
const PENDING_INTERVAL_MS = 3_000

export const SETTLEMENTS = ['settlements']

export const useSettlements = (filters: Filters) =>
  useInfiniteQuery({
    queryKey: [...SETTLEMENTS, filters],
    queryFn: ({ pageParam, signal }) =>
      get<SettlementPage['data']>(
        withQuery('/settlements', { ...toQuery(filters), limit: PAGE, cursor: pageParam }),
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages, pageParams }) => ({ pages: pages.map(({ settlements }) => settlements), pageParams }),
    ...longList,
  })

/** Read again and again while it is pending. */
export const useSettlement = (id: string) =>
  useQuery({
    queryKey: ['settlement', id],
    queryFn: ({ signal }) => get<SettlementDetails>(`/settlements/${encodeURIComponent(id)}`, signal),
    refetchInterval: ({ state }) => (state.data?.state === 'pending' ? PENDING_INTERVAL_MS : false),
  })
