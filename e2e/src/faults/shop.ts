import { setTimeout as delay } from 'node:timers/promises'
import { type SettleRequest, type SettleResult } from '@tollgate/protocol'
import { Agent, request } from 'undici'
import { type ClientKey } from '../testing/client-keys'

/** What one who asked for a settlement was told until it knew. */
export type Told = {
  /** The last answer, which says how it ended: success, or why not. */
  end: SettleResult
  /** Answers that reported success. */
  successes: number
  /** Answers that said the outcome is not known yet. */
  pendings: number
  /** Questions that were sent and never answered. */
  cuts: number
}

export type Shop = ReturnType<typeof openShop>

const AGAIN_MS = 50
const PATIENCE_SECONDS = 90

/**
 * A resource server that has payments settled: it asks one of the facilitators, and where it is cut off, or told that
 * nothing is known, the next one again, until somebody says how it ended.
 */
export function openShop(urls: readonly string[], { clientId, token }: ClientKey) {
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
    /** Asks once, the facilitator whose turn it is. Rejects where there is no answer. */
    ask,

    /** @throws Error where nobody says how it ended in time */
    async settle(turn: number, body: SettleRequest, idempotencyKey?: string): Promise<Told> {
      const told = { successes: 0, pendings: 0, cuts: 0 }
      const deadline = Date.now() + PATIENCE_SECONDS * 1000
      let last = 'nothing'
      for (let next = turn; Date.now() < deadline; next++) {
        try {
          const { status, result } = await ask(next, body, idempotencyKey)
          last = `${status} ${JSON.stringify(result)}`
          if (status === 200 && result.errorReason !== 'settlement_pending') {
            if (result.success) told.successes++
            return { ...told, end: result }
          }
          if (status === 200) told.pendings++
          else if (status < 500) break
        } catch (error) {
          last = String(error)
          // One that found nobody listening was never sent.
          if ((error as NodeJS.ErrnoException).code !== 'ECONNREFUSED') told.cuts++
        }
        await delay(AGAIN_MS)
      }
      throw new Error(`nobody says what became of a payment; last: ${last}`)
    },

    close: () => agent.destroy(),
  }
}
