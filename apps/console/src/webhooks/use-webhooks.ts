import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query'
import { withQuery } from '../api/api'
import { longList } from '../ui/long-list'
import { useWebhookService } from './webhook-service'
import { type Delivery, type DeliveryDetails, type DeliveryState, type Webhook } from './webhook'

const PAGE = 200
const PENDING_INTERVAL_MS = 2_000

const WEBHOOKS = 'webhooks'
const DELIVERIES = 'deliveries'
const DELIVERY = 'delivery'

function useWebhooksQuery() {
  const { ask, owner } = useWebhookService()
  return {
    queryKey: [WEBHOOKS, owner],
    queryFn: ({ signal }: { signal: AbortSignal }) => ask<Webhook[]>('GET', '/webhooks', { signal }),
  }
}

export const useWebhooks = () => useQuery(useWebhooksQuery())

/** Undefined `webhook` of a finished query: there is no such endpoint. */
export const useWebhook = (id: string) =>
  useQuery({
    ...useWebhooksQuery(),
    select: (all: Webhook[]) => ({ webhook: all.find((webhook) => webhook.id === id) }),
  })

export function useDeliveries(id: string, state: DeliveryState | undefined) {
  const { ask, owner } = useWebhookService()
  return useInfiniteQuery({
    queryKey: [DELIVERIES, owner, id, state],
    queryFn: ({ pageParam, signal }) =>
      ask<{ deliveries: Delivery[]; next: string | null }>(
        'GET',
        withQuery(`/webhooks/${id}/deliveries`, { state, limit: PAGE, cursor: pageParam }),
        { signal },
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    select: ({ pages, pageParams }) => ({ pages: pages.map(({ deliveries }) => deliveries), pageParams }),
    ...longList,
  })
}

/** Read again and again while it is pending. */
export function useDelivery(webhookId: string, id: string) {
  const { ask, owner } = useWebhookService()
  return useQuery({
    queryKey: [DELIVERY, owner, webhookId, id],
    queryFn: ({ signal }) =>
      ask<DeliveryDetails>('GET', `/webhooks/${webhookId}/deliveries/${id}`, { signal }),
    refetchInterval: ({ state }) => (state.data?.state === 'pending' ? PENDING_INTERVAL_MS : false),
  })
}

/** After a change of an endpoint or of its deliveries. */
export function useReread() {
  const queries = useQueryClient()
  return {
    webhooks: () => queries.invalidateQueries({ queryKey: [WEBHOOKS] }),
    deliveries: () => queries.resetQueries({ queryKey: [DELIVERIES] }),
    delivery: () => queries.invalidateQueries({ queryKey: [DELIVERY] }),
  }
}
