import { z } from 'zod'
import { webhookInput, WebhookState } from '../webhooks'

export const gatewayEventTypes = [
  'payment.settled',
  'payment.failed',
  'payment.pending',
  'payment.reversed',
  'credits.bought',
  'credits.low',
] as const

const balanceBelow = z
  .int()
  .min(1)
  .max(Number.MAX_SAFE_INTEGER)
  .nullable()
  .describe(
    '`credits.low` is sent when the credits on a plan fall below this number, once until credits are bought; null: never.',
  )
const input = { ...webhookInput(gatewayEventTypes), balance_below: balanceBelow }

export const NewWalletWebhook = z
  .object({
    url: input.url,
    events: input.events.default([]),
    description: input.description.default(''),
    balance_below: balanceBelow.default(null),
  })
  .meta({
    id: 'NewWebhook',
    examples: [
      { url: 'https://app.example/hooks', events: ['credits.bought', 'credits.low'], balance_below: 100 },
    ],
  })
export const WalletWebhookChange = z
  .object(input)
  .partial()
  .meta({ id: 'WebhookChange', examples: [{ events: [], balance_below: 50, active: true }] })

const example = {
  id: '0f8b2c1e-6d3a-4c57-9e21-7a5d90b4e6f3',
  url: 'https://app.example/hooks',
  events: ['credits.bought' as const, 'credits.low' as const],
  description: '',
  active: true,
  balance_below: 100,
  created_at: '2026-01-15T12:00:00.000Z',
  secret_rotated_at: null,
  failing_since: null,
  disabled_reason: null,
}
export const WalletWebhook = z
  .object({
    id: z.guid(),
    ...input,
    created_at: z.iso.datetime(),
    secret_rotated_at: z.iso.datetime().nullable(),
    failing_since: z.iso
      .datetime()
      .nullable()
      .describe('The first of the attempts that failed in a row; null if the last one was taken.'),
    disabled_reason: z
      .string()
      .nullable()
      .describe(
        'Why the service stopped sending by itself, such as an answer 410 Gone; null if you did, or if it is active.',
      ),
  })
  .meta({ id: 'Webhook', examples: [example] })
export const WalletWebhookList = z
  .object({ data: z.array(WalletWebhook) })
  .meta({ examples: [{ data: [example] }] })
export const WalletWebhookWithSecret = WalletWebhook.extend({
  secret: z.string().describe('Signs the deliveries. Only in this response.'),
}).meta({
  id: 'WebhookWithSecret',
  examples: [{ ...example, secret: 'whsec_ZXhhbXBsZSBvZiAzMiBieXRlcywgbm90IGEgc2VjcmV0IQ==' }],
})
export const WalletWebhookDeleted = z
  .object({ deleted: z.guid() })
  .meta({ examples: [{ deleted: example.id }] })

const exampleDelivery = {
  id: '41',
  message_id: 'msg_1b9d6bcd2f3e4a5b8c7d9e0f1a2b3c4d',
  type: 'credits.bought',
  subject: '9b2f7f6e-7a37-4a5e-9a0c-1f6f3d1f7a52',
  state: 'delivered' as const,
  attempts: 1,
  next_attempt_at: null,
  created_at: '2026-01-15T12:00:00.000Z',
  delivered_at: '2026-01-15T12:00:00.140Z',
  last_status: 200,
  last_error: null,
}
export const WalletWebhookDelivery = z
  .object({
    id: z.string(),
    message_id: z.string().describe('`webhook-id` of every attempt.'),
    type: z.string(),
    subject: z
      .string()
      .describe('The id of the payment, or the plan. Deliveries of one subject keep their order.'),
    state: WebhookState,
    attempts: z.int(),
    next_attempt_at: z.iso.datetime().nullable(),
    created_at: z.iso.datetime().describe('When the event was.'),
    delivered_at: z.iso.datetime().nullable(),
    last_status: z.int().nullable(),
    last_error: z.string().nullable(),
  })
  .meta({ id: 'WebhookDelivery', examples: [exampleDelivery] })
export const WalletWebhookDeliveryPage = z
  .object({
    data: z.array(WalletWebhookDelivery),
    next: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
  })
  .meta({ examples: [{ data: [exampleDelivery], next: null }] })
export const WalletWebhookDeliveryDetail = WalletWebhookDelivery.extend({
  payload: z.unknown().describe('The body that is sent.'),
  log: z
    .array(
      z.object({
        at: z.iso.datetime(),
        duration_ms: z.int(),
        status: z.int().nullable(),
        error: z.string().nullable(),
      }),
    )
    .describe('The attempts, newest first.'),
}).meta({
  id: 'WebhookDeliveryDetail',
  examples: [
    {
      ...exampleDelivery,
      payload: {
        type: 'credits.bought',
        timestamp: '2026-01-15T12:00:00.000Z',
        data: { id: exampleDelivery.subject },
      },
      log: [{ at: '2026-01-15T12:00:00.100Z', duration_ms: 40, status: 200, error: null }],
    },
  ],
})
export const WalletWebhookReplayed = z
  .object({
    replayed: z.int().describe('At most 10,000 within an hour; the oldest events first.'),
    until: z.iso.datetime().nullable().describe('When the last of these events was.'),
  })
  .meta({ examples: [{ replayed: 12, until: '2026-01-15T12:00:00.000Z' }] })
