import { withTransaction, type Pool, type PoolClient } from '@tollgate/database'
import { ApiError } from '@tollgate/service'
import { randomUUID } from 'node:crypto'
import {
  COUNT_REPLAYS,
  CREATE,
  CREATED_TODAY,
  DELETE,
  DELETE_ALL,
  DELIVERIES,
  DETAIL,
  FIND,
  LIST,
  LOCK_OWNER,
  MAX_CREATED,
  MAX_REPLAYED,
  MAX_TESTS,
  PENDING_TESTS,
  REPLAY,
  REPLAY_RANGE,
  REPLAYS_LEFT,
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
  disabledReason: string | null
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
        await assertMayCreate(owner, session)
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

    sendTest: (owner: string, id: string): Promise<Delivery | undefined> =>
      withTransaction(pool, async (session) => {
        await session.query(LOCK_OWNER, [owner])
        if ((await session.query(PENDING_TESTS, [id])).rowCount === MAX_TESTS)
          throw new ApiError(
            'CONFLICT',
            `${MAX_TESTS} test events of this webhook are pending; wait until they were taken or given up`,
          )
        const messageId = `msg_${randomUUID().replaceAll('-', '')}`
        return (await session.query<Delivery>(TEST, [id, owner, messageId])).rows[0]
      }),

    listDeliveries: (owner: string, id: string, { before, state, limit }: Page) =>
      rows<Delivery>(DELIVERIES, [id, owner, before, state, limit]),

    async findDelivery(owner: string, id: string, deliveryId: bigint): Promise<DeliveryDetail | undefined> {
      return (await rows<DeliveryDetail>(DETAIL, [id, owner, deliveryId]))[0]
    },

    replay: (owner: string, id: string, deliveryId: bigint): Promise<Delivery | undefined> =>
      replaying(owner, async (session) => {
        const [result] = (await session.query<Delivery>(REPLAY, [id, owner, deliveryId])).rows
        return { replayed: result ? 1 : 0, result }
      }),

    /** Oldest first, at most as many as the owner may replay in this hour. `until` is when the last event of them was. */
    replayRange: (owner: string, id: string, { from, to, state }: Range) =>
      replaying(owner, async (session, left) => {
        const values = [id, owner, from, to, state, left]
        const { rows } = await session.query<{ replayed: number; until: Date | null }>(REPLAY_RANGE, values)
        const result = rows[0] ?? { replayed: 0, until: null }
        return { replayed: result.replayed, result }
      }),
  }

  /** @throws ApiError RATE_LIMITED, if the owner has replayed MAX_REPLAYED within the hour */
  function replaying<Result>(
    owner: string,
    work: (session: PoolClient, left: number) => Promise<{ replayed: number; result: Result }>,
  ): Promise<Result> {
    return withTransaction(pool, async (session) => {
      const { rows } = await session.query<{ left: number; seconds: number }>(REPLAYS_LEFT, [owner])
      const { left, seconds } = rows[0] ?? { left: 0, seconds: 0 }
      if (left <= 0)
        throw new ApiError(
          'RATE_LIMITED',
          `${MAX_REPLAYED} deliveries were replayed within an hour, which is the most; go on in ${seconds} s`,
          { retryAfterSeconds: seconds },
        )
      const { replayed, result } = await work(session, left)
      await session.query(COUNT_REPLAYS, [owner, replayed])
      return result
    })
  }
}

async function assertMayCreate(owner: string, session: PoolClient): Promise<void> {
  const { rows } = await session.query<{ created: number; seconds: number }>(CREATED_TODAY, [owner])
  const { created, seconds } = rows[0] ?? { created: 0, seconds: 0 }
  if (created >= MAX_CREATED)
    throw new ApiError(
      'RATE_LIMITED',
      `${MAX_CREATED} webhooks were created within a day, which is the most; change one, or create the next in ${seconds} s`,
      { retryAfterSeconds: seconds },
    )
}
