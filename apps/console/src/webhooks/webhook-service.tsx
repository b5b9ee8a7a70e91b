import { createContext, type ReactNode, useContext } from 'react'
import { type Method } from '../api/api'

/** Webhooks of a service, in the shapes of webhook.ts. */
export type WebhookService = {
  /** Whose webhooks they are: part of the keys of all queries. */
  owner: string
  events: readonly string[]
  /** Whether an endpoint has a limit for `credits.low`. */
  hasBalance: boolean
  ask<T>(method: Method, path: string, options?: { body?: unknown; signal?: AbortSignal }): Promise<T>
  /** The page of what an event is about. */
  pageOf(delivery: { type: string; subject: string }): string | undefined
}

const Context = createContext<WebhookService | undefined>(undefined)

export const WebhookServiceProvider = (props: { service: WebhookService; children: ReactNode }) => (
  <Context value={props.service}>{props.children}</Context>
)

export function useWebhookService(): WebhookService {
  const service = useContext(Context)
  if (!service) throw new Error('useWebhookService needs a WebhookServiceProvider')
  return service
}
