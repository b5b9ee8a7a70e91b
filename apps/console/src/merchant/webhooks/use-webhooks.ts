import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { withQuery } from '../../api/api'
import { get } from '../api'
import { longList } from '../long-list'
import { type Delivery, type DeliveryDetails, type DeliveryState, type Webhook } from './webhook'

const PAGE = 200
const PENDING_INTERVAL_MS = 2_000

const WEBHOOKS = ['webhooks']
const DELIVERIES = ['deliveries']

export const useWebhooks = () =>
  useQuery({ queryKey: WEBHOOKS, queryFn: ({ signal }) => get<Webhook[]>('/webhooks', signal) })

/** Undefined data of a finished query: there is no such endpoint. */
export const useWebhook = (id: string) =>
  useQuery({
    queryKey: WEBHOOKS,
    queryFn: ({ signal }) => get<Webhook[]>('/webhooks', signal),
    select: (all) => ({ webhook: all.find((webhook) => webhook.id === id) }),
  })

export const useDeliveries = (id: string, state: DeliveryState | undefined) =>
  useInfiniteQuery({
    queryKey: [...DELIVERIES, id, state],
    queryFn: ({ pageParam, signal }) =>
      get<{ deliveries: Delivery[]; next: string | null }>(
        withQuery(`/webhooks/${id}/deliveries`, { state, limit: PAGE, cursor: pageParam }),
        signal,
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages, pageParams }) => ({ pages: pages.map(({ deliveries }) => deliveries), pageParams }),
    ...longList,
  })

/** Read again and again while it is pending. */
export const useDelivery = (webhookId: string, id: string) =>
  useQuery({
    queryKey: ['delivery', webhookId, id],
    queryFn: ({ signal }) => get<DeliveryDetails>(`/webhooks/${webhookId}/deliveries/${id}`, signal),
    refetchInterval: ({ state }) => (state.data?.state === 'pending' ? PENDING_INTERVAL_MS : false),
  })

/** After a change of an endpoint or of its deliveries. */
export function useReread() {
  const queries = useQueryClient()
  return {
    webhooks: () => queries.invalidateQueries({ queryKey: WEBHOOKS }),
    deliveries: () => queries.resetQueries({ queryKey: DELIVERIES }),
    delivery: () => queries.invalidateQueries({ queryKey: ['delivery'] }),
  }
}
