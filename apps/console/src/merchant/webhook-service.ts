import { type WebhookService } from '../webhooks/webhook-service'
import { ask } from './api'

/** The facilitator's webhooks, of the signed-in user. */
export const webhookService: WebhookService = {
  owner: 'user',
  events: ['settlement.settled', 'settlement.failed', 'settlement.pending', 'settlement.reversed'],
  hasBalance: false,
  ask,
  pageOf: ({ type, subject }) => (type.startsWith('settlement.') ? `/settlements/${subject}` : undefined),
}
