import { NewWebhook, WebhookChange } from '@tollgate/protocol'
import { parse } from '@tollgate/service'
import { showEndpoint, type WebhookWire } from '@tollgate/webhooks'
import { type User } from '../users/store'

/** Events belong to the user of the client key that claimed the payment. */
export const wire: WebhookWire<Pick<User, 'id'>> = {
  authorize: ({ id }) => Promise.resolve(String(id)),
  readNew: (body) => ({ ...parse(NewWebhook, body), threshold: null }),
  readChange: (body) => parse(WebhookChange, body),
  showEndpoint,
  showPage: (deliveries, next) => ({ deliveries, next }),
  answer: (data) => ({ data }),
}
