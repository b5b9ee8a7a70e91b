import { startWebhookReceiver, type ReceivedWebhook } from '@tollgate/testing'
import { Webhook } from 'standardwebhooks'
import { until } from './paying'

export type WebhookEvent = { type: string; data: { id: string; transaction: string } }

/** A receiver that holds the first request of each message while `isHolding`, so that a kill interrupts its delivery. */
export async function startHoldingReceiver({ isHolding }: { isHolding: boolean }) {
  const taken: ReceivedWebhook[] = []
  const held = new Set<string>()
  const state = { isHolding }
  const receiver = await startWebhookReceiver((res, one) => {
    if (state.isHolding && !held.has(one.id)) return void held.add(one.id)
    taken.push(one)
    res.writeHead(200).end()
  })
  return {
    ...receiver,
    /** Takes everything from now on, and returns this many messages, each where it came first. */
    async takeAll(secret: string, count: number): Promise<WebhookEvent[]> {
      state.isHolding = false
      const first = await until(
        () => Promise.resolve(firstOnes(taken)),
        (all) => all.length === count,
        90,
      )
      return first.map(
        ({ text, headers }) =>
          new Webhook(secret).verify(text, headers as Record<string, string>) as WebhookEvent,
      )
    },
  }
}

const firstOnes = (taken: readonly ReceivedWebhook[]) =>
  taken.filter(({ id }, index) => taken.findIndex((one) => one.id === id) === index)

export async function postJson(
  url: string,
  headers: Record<string, string>,
  body?: object,
): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  })
  return { status: answer.status, body: await answer.json() }
}
