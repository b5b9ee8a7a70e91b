import { type CompletedRequest } from '@tollgate/service'
import { bucketOf } from './histogram'

/** Pseudo user id that counts the requests of all users. Real ids start at 1. */
export const ALL_USERS = 0

type Counted = { count: number; latencies: Map<number, number> }
export type HttpCount = Counted & {
  userId: number
  day: string
  method: string
  route: string
  status: number
}
export type ClientCount = Counted & { userId: number; day: string; clientId: string }

/** `network` is empty if the request named an unknown one. */
export type SettlementRefusal = { clientId: string; day: string; network: string; reason: string }
export type RefusalCount = SettlementRefusal & { count: number }

export type MetricsBuffer = ReturnType<typeof createMetricsBuffer>

/** At most `maxKeys` counters in memory. A request that would need another one is only counted as missed. */
export function createMetricsBuffer(maxKeys: number) {
  const http = new Map<string, HttpCount>()
  const clients = new Map<string, ClientCount>()
  const refusals = new Map<string, RefusalCount>()
  let missed = 0

  const size = () => http.size + clients.size + refusals.size

  function increment<Count extends { count: number }>(
    counts: Map<string, Count>,
    key: string,
    create: () => Count,
  ): Count | undefined {
    let found = counts.get(key)
    if (!found) {
      if (size() >= maxKeys) {
        missed++
        return undefined
      }
      found = create()
      counts.set(key, found)
    }
    found.count++
    return found
  }

  return {
    answered(day: string, { method, route, status, seconds, locals }: CompletedRequest) {
      const bucket = bucketOf(seconds * 1000)
      const add = (counted: Counted | undefined) =>
        counted?.latencies.set(bucket, (counted.latencies.get(bucket) ?? 0) + 1)
      const countFor = (userId: number) => {
        const create = () => ({ userId, day, method, route, status, ...noLatencies() })
        add(increment(http, `${userId} ${day} ${method} ${status} ${route}`, create))
      }
      countFor(ALL_USERS)
      const { userId, clientId } = locals
      if (typeof userId !== 'number') return
      countFor(userId)
      if (typeof clientId === 'string')
        add(increment(clients, `${day} ${clientId}`, () => ({ userId, day, clientId, ...noLatencies() })))
    },

    refused(refusal: SettlementRefusal) {
      const { clientId, day, network, reason } = refusal
      increment(refusals, `${day} ${clientId} ${reason} ${network}`, () => ({ ...refusal, count: 0 }))
    },

    isEmpty: () => size() === 0,
    missed: () => missed,
    http: () => [...http.values()],
    clients: () => [...clients.values()],
    refusals: () => [...refusals.values()],
  }
}

const noLatencies = (): Counted => ({ count: 0, latencies: new Map() })
