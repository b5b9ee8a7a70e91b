import { withTransaction, type Pool, type PoolClient } from '@tollgate/database'
import { randomUUID } from 'node:crypto'
import {
  CREATE,
  DELETE,
  DELETE_ALL,
  DELIVERIES,
  DETAIL,
  FIND,
  LIST,
  LOCK_OWNER,
  REPLAY,
  REPLAY_RANGE,
  ROTATE,
  TEST,
  UPDATE,
} from './endpoint-sql'
import { createSecret } from './secret'

export type NewEndpoint = {
  url: string
  events: readonly string[]
  description: string
  threshold: number | null
}
type Members = NewEndpoint & { active: boolean }
/** Members that are undefined stay as they are. */
export type EndpointChange = { [Name in keyof Members]?: Members[Name] | undefined }

export type Endpoint = {
  id: string
  url: string
  events: string[]
  description: string
  threshold: bigint | null
  active: boolean
  createdAt: Date
  secretRotatedAt: Date | null
  failingSince: Date | null
}
export type EndpointWithSecret = Endpoint & { secret: string }

type DeliveryState = 'pending' | 'delivered' | 'failed'

export type Delivery = {
  id: bigint
  messageId: string
  type: string
  subject: string
  state: DeliveryState
  attempts: number
  nextAttemptAt: Date | null
  createdAt: Date
  deliveredAt: Date | null
  lastStatus: number | null
  lastError: string | null
}
type LoggedAttempt = { at: string; durationMs: number; status: number | null; error: string | null }
export type DeliveryDetail = Delivery & { payload: unknown; log: LoggedAttempt[] }

type Page = { before: bigint | null; state: DeliveryState | null; limit: number }
type Range = { from: Date; to: Date; state: DeliveryState | null }

export type EndpointStore = ReturnType<typeof createEndpointStore>

/** In the transaction that deletes the owner, after its lock. No delivery begins after its commit. */
export async function deleteEndpointsOf(owner: string, session: PoolClient): Promise<void> {
  await session.query(DELETE_ALL, [owner])
}

/** Every statement names the owner: an id of another one is unknown. */
export function createEndpointStore(pool: Pool) {
  const rows = async <Row extends object>(text: string, values: unknown[]): Promise<Row[]> =>
    (await pool.query<Row>(text, values)).rows

  return {
    /** Undefined if the owner has MAX_ENDPOINTS. The secret is not returned again. */
    create: (owner: string, wanted: NewEndpoint): Promise<EndpointWithSecret | undefined> =>
      withTransaction(pool, async (session) => {
        await session.query(LOCK_OWNER, [owner])
        const secret = createSecret()
        const { url, events, description, threshold } = wanted
        const values = [owner, randomUUID(), url, events, description, threshold, secret]
        const created = (await session.query<Endpoint>(CREATE, values)).rows[0]
        return created && { ...created, secret }
      }),

    list: (owner: string) => rows<Endpoint>(LIST, [owner]),

    async find(owner: string, id: string): Promise<Endpoint | undefined> {
      return (await rows<Endpoint>(FIND, [id, owner]))[0]
    },

    async update(owner: string, id: string, change: EndpointChange): Promise<Endpoint | undefined> {
      const { url = null, events = null, description = null, active = null, threshold } = change
      const values = [id, owner, url, events, description, active, threshold !== undefined, threshold ?? null]
      return (await rows<Endpoint>(UPDATE, values))[0]
    },

    async delete(owner: string, id: string): Promise<boolean> {
      return (await pool.query(DELETE, [id, owner])).rowCount === 1
    },

    /** The old secret signs too, for a day. */
    async rotateSecret(owner: string, id: string): Promise<EndpointWithSecret | undefined> {
      const secret = createSecret()
      const [endpoint] = await rows<Endpoint>(ROTATE, [id, owner, secret])
      return endpoint && { ...endpoint, secret }
    },

    async sendTest(owner: string, id: string): Promise<Delivery | undefined> {
      const messageId = `msg_${randomUUID().replaceAll('-', '')}`
      return (await rows<Delivery>(TEST, [id, owner, messageId]))[0]
    },

    listDeliveries: (owner: string, id: string, { before, state, limit }: Page) =>
      rows<Delivery>(DELIVERIES, [id, owner, before, state, limit]),

    async findDelivery(owner: string, id: string, deliveryId: bigint): Promise<DeliveryDetail | undefined> {
      return (await rows<DeliveryDetail>(DETAIL, [id, owner, deliveryId]))[0]
    },

    async replay(owner: string, id: string, deliveryId: bigint): Promise<Delivery | undefined> {
      return (await rows<Delivery>(REPLAY, [id, owner, deliveryId]))[0]
    },

    /** Oldest first, at most MAX_REPLAYED. `until` is when the last event of them was. */
    async replayRange(owner: string, id: string, { from, to, state }: Range) {
      const values = [id, owner, from, to, state]
      const [replayed] = await rows<{ replayed: number; until: Date | null }>(REPLAY_RANGE, values)
      return replayed ?? { replayed: 0, until: null }
    },
  }
}
