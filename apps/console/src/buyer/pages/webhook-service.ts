import { type Tollgate } from '@tollgate/wallet'
import { type Method, readJson } from '../../api/api'
import { type WebhookService } from '../../webhooks/webhook-service'
import { fromWire, toWire } from './webhook-wire'

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
    const response = await client.accountFetch(path, {
      method,
      ...(signal ? { signal } : {}),
      ...(body === undefined
        ? {}
        : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(toWire(body)) }),
    })
    return fromWire(await readJson(response)) as T
  },
  pageOf: ({ type, subject }) =>
    type.startsWith('payment.') || type === 'credits.bought' ? `/payments/${subject}` : undefined,
})
