import { type Endpoint } from './endpoint-store'

/** Without its threshold and secret. */
export const showEndpoint = (endpoint: Endpoint) => ({
  id: endpoint.id,
  url: endpoint.url,
  events: endpoint.events,
  description: endpoint.description,
  active: endpoint.active,
  createdAt: endpoint.createdAt.toISOString(),
  secretRotatedAt: endpoint.secretRotatedAt?.toISOString() ?? null,
  failingSince: endpoint.failingSince?.toISOString() ?? null,
  disabledReason: endpoint.disabledReason,
})
