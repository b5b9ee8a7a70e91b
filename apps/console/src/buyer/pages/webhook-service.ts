import { type Tollgate } from '@tollgate/wallet'
import { type Method, readJson, serviceUrl } from '../../api/api'
import { type WebhookService } from '../../webhooks/webhook-service'
import { camelCased, snakeCased } from './member-names'

/** The gateway's webhooks, in a session of the wallet. */
export const webhookServiceOf = (client: Tollgate, address: string): WebhookService => ({
  owner: address,
  events: [
    'payment.settled',
    'payment.failed',
    'payment.pending',
    'payment.reversed',
    'credits.bought',
    'credits.low',
  ],
  hasBalance: true,
  async ask<T>(
    method: Method,
    path: string,
    { body, signal }: { body?: unknown; signal?: AbortSignal } = {},
  ) {
    const response = await client.fetch(serviceUrl + path, {
      method,
      ...(signal ? { signal } : {}),
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(snakeCased(body)) }),
    })
    return sharedShape(camelCased(await readJson(response))) as T
  },
  pageOf: ({ type, subject }) =>
    type.startsWith('payment.') || type === 'credits.bought' ? `/payments/${subject}` : undefined,
})

/** As the facilitator answers: a list without `data` around it, and a page of deliveries with their name. */
function sharedShape(answer: unknown): unknown {
  const { data, next } = answer as { data?: unknown; next?: unknown }
  if (!Array.isArray(data)) return answer
  return next === undefined ? data : { deliveries: data, next }
}
