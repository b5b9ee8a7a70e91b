import { type Answer } from '@tollgate/service'
import { bucketOf } from './histogram'

/** The user id under which all requests are counted, in addition to their own user's. User ids begin at 1. */
export const EVERYBODY = 0

type Counted = { count: number; latencies: Map<number, number> }
export type HttpCount = Counted & {
  userId: number
  day: string
  method: string
  route: string
  status: number
}
export type ClientCount = Counted & { userId: number; day: string; clientId: string }

/** A settlement that was refused: `network` is empty where the request named none of ours. */
export type SettlementRefusal = { clientId: string; day: string; network: string; reason: string }
export type RefusalCount = SettlementRefusal & { count: number }

export type Counts = ReturnType<typeof createCounts>

/** Counters in memory: at most `maxKeys` of them. What would need another one is only counted as `missed`. */
export function createCounts(maxKeys: number) {
  const http = new Map<string, HttpCount>()
  const clients = new Map<string, ClientCount>()
  const refusals = new Map<string, RefusalCount>()
  let missed = 0

  const size = () => http.size + clients.size + refusals.size

  function one<Count extends { count: number }>(
    counts: Map<string, Count>,
    key: string,
    first: () => Count,
  ): Count | undefined {
    let found = counts.get(key)
    if (!found) {
      if (size() >= maxKeys) {
        missed++
        return undefined
      }
      found = first()
      counts.set(key, found)
    }
    found.count++
    return found
  }

  return {
    answered(day: string, { method, route, status, seconds, locals }: Answer) {
      const bucket = bucketOf(seconds * 1000)
      const add = (counted: Counted | undefined) =>
        counted?.latencies.set(bucket, (counted.latencies.get(bucket) ?? 0) + 1)
      const countFor = (userId: number) => {
        const first = () => ({ userId, day, method, route, status, ...nothing() })
        add(one(http, `${userId} ${day} ${method} ${status} ${route}`, first))
      }
      countFor(EVERYBODY)
      const { userId, clientId } = locals
      if (typeof userId !== 'number') return
      countFor(userId)
      if (typeof clientId === 'string')
        add(one(clients, `${day} ${clientId}`, () => ({ userId, day, clientId, ...nothing() })))
    },

    refused(refusal: SettlementRefusal) {
      const { clientId, day, network, reason } = refusal
      one(refusals, `${day} ${clientId} ${reason} ${network}`, () => ({ ...refusal, count: 0 }))
    },

    isEmpty: () => size() === 0,
    missed: () => missed,
    http: () => [...http.values()],
    clients: () => [...clients.values()],
    refusals: () => [...refusals.values()],
  }
}

const nothing = (): Counted => ({ count: 0, latencies: new Map() })
