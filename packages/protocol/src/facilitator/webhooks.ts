import { z } from 'zod'
import { webhookInput, WebhookState } from '../webhooks'
import { exampleTime } from './fields'

export const settlementEventTypes = [
  'settlement.settled',
  'settlement.failed',
  'settlement.pending',
  'settlement.reversed',
] as const

const input = webhookInput(settlementEventTypes)

export const NewWebhook = z
  .object({ url: input.url, events: input.events.default([]), description: input.description.default('') })
  .meta({
    id: 'NewWebhook',
    examples: [{ url: 'https://shop.example/hooks', events: ['settlement.settled', 'settlement.reversed'] }],
  })
export const WebhookChange = z
  .object(input)
  .partial()
  .meta({ id: 'WebhookChange', examples: [{ events: [], active: true }] })

const fields = {
  id: z.guid(),
  ...input,
  createdAt: z.iso.datetime(),
  secretRotatedAt: z.iso.datetime().nullable(),
  failingSince: z.iso
    .datetime()
    .nullable()
    .describe('The first of the attempts that failed in a row; null if the last one was taken.'),
  disabledReason: z
    .string()
    .nullable()
    .describe(
      'Why the service stopped sending by itself, such as an answer 410 Gone; null if you did, or if it is active.',
    ),
}
const example = {
  id: '0f8b2c1e-6d3a-4c57-9e21-7a5d90b4e6f3',
  url: 'https://shop.example/hooks',
  events: ['settlement.settled' as const],
  description: '',
  active: true,
  createdAt: exampleTime,
  secretRotatedAt: null,
  failingSince: null,
  disabledReason: null,
}
const Webhook = z.object(fields).meta({ id: 'Webhook', examples: [example] })
export const WebhookShown = z.object({ data: Webhook }).meta({ examples: [{ data: example }] })
export const WebhookList = z.object({ data: z.array(Webhook) }).meta({ examples: [{ data: [example] }] })
export const WebhookWithSecret = z
  .object({
    data: z.object({
      ...fields,
      secret: z.string().describe('Signs the deliveries. Only in this response.'),
    }),
  })
  .meta({
    examples: [{ data: { ...example, secret: 'whsec_ZXhhbXBsZSBvZiAzMiBieXRlcywgbm90IGEgc2VjcmV0IQ==' } }],
  })
export const WebhookDeleted = z
  .object({ data: z.object({ deleted: z.guid() }) })
  .meta({ examples: [{ data: { deleted: example.id } }] })

const deliveryFields = {
  id: z.string(),
  messageId: z.string().describe('`webhook-id` of every attempt.'),
  type: z.string(),
  subject: z.string().describe('The id of the settlement. Deliveries of one subject keep their order.'),
  state: WebhookState,
  attempts: z.int(),
  nextAttemptAt: z.iso.datetime().nullable(),
  createdAt: z.iso.datetime().describe('When the event was.'),
  deliveredAt: z.iso.datetime().nullable(),
  lastStatus: z.int().nullable(),
  lastError: z.string().nullable(),
}
const exampleDelivery = {
  id: '41',
  messageId: 'msg_1b9d6bcd2f3e4a5b8c7d9e0f1a2b3c4d',
  type: 'settlement.settled',
  subject: '1204',
  state: 'delivered' as const,
  attempts: 1,
  nextAttemptAt: null,
  createdAt: exampleTime,
  deliveredAt: exampleTime,
  lastStatus: 200,
  lastError: null,
}
const WebhookDelivery = z.object(deliveryFields).meta({ id: 'WebhookDelivery', examples: [exampleDelivery] })
export const WebhookDeliveryShown = z
  .object({ data: WebhookDelivery })
  .meta({ examples: [{ data: exampleDelivery }] })
export const WebhookDeliveryPage = z
  .object({
    data: z.object({
      deliveries: z.array(WebhookDelivery),
      next: z.string().nullable().describe('`cursor` of the next page; null on the last one.'),
    }),
  })
  .meta({ examples: [{ data: { deliveries: [exampleDelivery], next: null } }] })
export const WebhookDeliveryDetail = z
  .object({
    data: z.object({
      ...deliveryFields,
      payload: z.unknown().describe('The body that is sent.'),
      log: z
        .array(
          z.object({
            at: z.iso.datetime(),
            durationMs: z.int(),
            status: z.int().nullable(),
            error: z.string().nullable(),
          }),
        )
        .describe('The attempts, newest first.'),
    }),
  })
  .meta({
    examples: [
      {
        data: {
          ...exampleDelivery,
          payload: { type: 'settlement.settled', timestamp: exampleTime, data: { id: '1204' } },
          log: [{ at: exampleTime, durationMs: 84, status: 200, error: null }],
        },
      },
    ],
  })
export const WebhookReplayed = z
  .object({
    data: z.object({
      replayed: z.int().describe('At most 10,000 within an hour; the oldest events first.'),
      until: z.iso.datetime().nullable().describe('When the last of these events was.'),
    }),
  })
  .meta({ examples: [{ data: { replayed: 12, until: exampleTime } }] })
