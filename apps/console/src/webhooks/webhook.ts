export type Webhook = {
  id: string
  url: string
  events: string[]
  description: string
  active: boolean
  createdAt: string
  secretRotatedAt: string | null
  failingSince?: string | null
  disabledReason?: string | null
  /** Of the gateway: an event says when the credits on a plan fall below it. */
  balanceBelow?: number | null
}
export type WebhookWithSecret = Webhook & { secret: string }

export const deliveryStates = ['pending', 'delivered', 'failed'] as const
export type DeliveryState = (typeof deliveryStates)[number]

export type Delivery = {
  id: string
  messageId: string
  type: string
  subject: string
  state: DeliveryState
  attempts: number
  nextAttemptAt: string | null
  createdAt: string
  deliveredAt: string | null
  lastStatus: number | null
  lastError: string | null
}

export type Attempt = { at: string; durationMs: number; status: number | null; error: string | null }
export type DeliveryDetails = Delivery & { payload: unknown; log: Attempt[] }
