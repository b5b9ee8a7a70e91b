import { z } from 'zod'
import { count } from './query'

/** Of the paths and bodies that both services share. */

const exampleId = '0f8b2c1e-6d3a-4c57-9e21-7a5d90b4e6f3'
const MAX_TYPES = 32

/** Of rows with a 64-bit id. */
const rowId = z.string().regex(/^[1-9][0-9]{0,17}$/, 'expected an id, in digits')

export const WebhookState = z.enum(['pending', 'delivered', 'failed'])

export const webhookInput = <Type extends string>(types: readonly [Type, ...Type[]]) => ({
  url: z.string().min(1).max(2_048).describe('https only, of a public host.'),
  events: z.array(z.enum(types)).max(MAX_TYPES).describe('The types of events to send. Empty means all.'),
  description: z
    .string()
    .max(256)
    .regex(/^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]*$/u, 'must not have control or invisible characters')
    .describe('For you.'),
  active: z.boolean().describe('An inactive endpoint gets no events; deliveries that are pending wait.'),
})

export const WebhookPath = z.object({
  id: z
    .guid()
    .toLowerCase()
    .meta({ description: 'The id of the endpoint.', examples: [exampleId] }),
})
export const WebhookDeliveryPath = WebhookPath.extend({
  deliveryId: rowId.meta({ description: 'The id of the delivery.', examples: ['41'] }),
})

export const WebhookDeliveriesQuery = z.object({
  state: WebhookState.optional().describe('Only deliveries in this state.'),
  limit: count(1, 200).default(50).meta({ description: 'The maximum number of deliveries.' }),
  cursor: rowId.optional().meta({ description: '`next` of the page before.' }),
})

export const WebhookReplayRequest = z
  .object({
    from: z.iso.datetime({ offset: true }).describe('Events from this time on.'),
    to: z.iso.datetime({ offset: true }).optional().describe('Events before this time; omitted: until now.'),
    state: WebhookState.optional().describe(
      'Only deliveries in this state; omitted: delivered and failed ones.',
    ),
  })
  .meta({ id: 'WebhookReplayRequest', examples: [{ from: '2026-01-15T12:00:00.000Z', state: 'failed' }] })
