import { setTimeout as delay } from 'node:timers/promises'
import { type SettleRequest, type SettleResult } from '@tollgate/protocol'
import { Agent, request } from 'undici'
import { type ClientKey } from '@tollgate/e2e/testing/client-keys'

export type SettleOutcome = {
  end: SettleResult
  successes: number
  pendings: number
  cuts: number
}

export type Merchant = ReturnType<typeof openMerchant>

const RETRY_MS = 50
const TIMEOUT_SECONDS = 90

/**
 * A resource server that settles payments at one facilitator, and after a broken connection or a pending
 * settlement at the next, until one reports the outcome.
 */
export function openMerchant(urls: readonly string[], { clientId, token }: ClientKey) {
  const agent = new Agent({ connections: 256, pipelining: 1, headersTimeout: 60_000, bodyTimeout: 60_000 })

  async function ask(turn: number, body: SettleRequest, idempotencyKey?: string) {
    const answer = await request(`${urls[turn % urls.length] ?? ''}/api/v1/settle`, {
      dispatcher: agent,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-client-id': clientId,
        'x-client-token': token,
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: JSON.stringify(body),
    })
    return { status: answer.statusCode, result: (await answer.body.json()) as SettleResult }
  }

  return {
    /** @throws Error without a response */
    ask,

    /** @throws Error if no facilitator reports the outcome in time */
    async settle(turn: number, body: SettleRequest, idempotencyKey?: string): Promise<SettleOutcome> {
      const counts = { successes: 0, pendings: 0, cuts: 0 }
      const deadline = Date.now() + TIMEOUT_SECONDS * 1000
      let last = 'nothing'
      for (let next = turn; Date.now() < deadline; next++) {
        try {
          const { status, result } = await ask(next, body, idempotencyKey)
          last = `${status} ${JSON.stringify(result)}`
          if (status === 200 && result.errorReason !== 'settlement_pending') {
            if (result.success) counts.successes++
            return { ...counts, end: result }
          }
          if (status === 200) counts.pendings++
          else if (status < 500) break
        } catch (error) {
          last = String(error)
          // A refused connection means that the request was never sent.
          if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') counts.cuts++
        }
        await delay(RETRY_MS)
      }
      throw new Error(`no facilitator reported the outcome; last: ${last}`)
    },

    close: () => agent.destroy(),
  }
}
