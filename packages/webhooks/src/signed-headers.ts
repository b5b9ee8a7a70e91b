import { Webhook } from 'standardwebhooks'

export type SignedMessage = { id: string; at: Date; body: string }

/** The headers of Standard Webhooks. Each of the secrets signs. */
export const signedHeaders = ({ id, at, body }: SignedMessage, secrets: readonly string[]) => ({
  'webhook-id': id,
  'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
  'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(id, at, body)).join(' '),
})
