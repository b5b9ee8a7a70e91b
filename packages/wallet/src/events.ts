import { type ProposedPayment } from './limits.js'

/** Amounts are in the asset's smallest unit. */
export type TollgateEvents = {
  'signed-in': { address: string; planId: number; expiresAt: string }
  'payment-required': PaymentEvent
  paid: PaymentEvent & { transaction: string }
  /** The payment was sent, now or before, and is not known as paid. */
  pending: PaymentEvent
  'limit-reached': PaymentEvent & { limit: string }
}

export type PaymentEvent = ProposedPayment

type Listener<Name extends keyof TollgateEvents> = (event: TollgateEvents[Name]) => void

export type Events = ReturnType<typeof createEvents>

/** A listener that throws does not stop a payment, nor the other listeners. */
export function createEvents() {
  const listeners: { [Name in keyof TollgateEvents]: Set<Listener<Name>> } = {
    'signed-in': new Set(),
    'payment-required': new Set(),
    paid: new Set(),
    pending: new Set(),
    'limit-reached': new Set(),
  }

  return {
    on<Name extends keyof TollgateEvents>(name: Name, listener: Listener<Name>): () => void {
      listeners[name].add(listener)
      return () => void listeners[name].delete(listener)
    },
    emit<Name extends keyof TollgateEvents>(name: Name, event: TollgateEvents[Name]): void {
      for (const listener of listeners[name])
        try {
          listener(event)
        } catch (error) {
          queueMicrotask(() => {
            throw error
          })
        }
    },
  }
}
