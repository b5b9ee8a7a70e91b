import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { operations, type Operation } from '@tollgate/protocol'
import { sha256 } from '../digest'
import { createBatchLoader } from '../batch-loader'

export type Client = {
  clientId: string
  userId: number
  title: string
  /** Empty: all operations. */
  scope: readonly Operation[]
  createdAt: Date
  expiresAt: Date | null
  /** Allowed recipients. Empty: all. */
  payTo: readonly string[]
  /** Fees of 24 hours on each network, in its native smallest unit; null: no cap. */
  maxFeesPerDay: bigint | null
  /** Requests to /settle; null: no cap. */
  maxPaymentsPerMinute: number | null
}

/** With the fee shares of the key and its user; null: the configured default. */
export type Caller = Client & { feeShareBps: number | null; userFeeShareBps: number | null }

export type ClientStore = ReturnType<typeof createClientStore>

export const MAX_LIVE_KEYS = 1_000

/** Keeps the comparison constant-time for unknown keys. */
const NO_HASH = Buffer.alloc(32)

type Key = Omit<FacilitatorModels.Client, 'maxFeesPerDay'> & {
  maxFeesPerDay: string | null
  userFeeShareBps: number | null
  isDisabled: boolean
}
const KEYS = `
  SELECT c.client_id AS id, c.user_id AS "userId", c.token_hash AS "tokenHash", c.title, c.scope, c.created_at AS "createdAt",
    c.expires_at AS "expiresAt", c.deleted_at AS "deletedAt", c.pay_to AS "payTo", c.fee_share_bps AS "feeShareBps",
    c.max_fees_per_day AS "maxFeesPerDay", c.max_payments_per_minute AS "maxPaymentsPerMinute",
    u.fee_share_bps AS "userFeeShareBps", u.disabled_at IS NOT NULL AS "isDisabled"
  FROM clients c JOIN users u ON u.id = c.user_id WHERE c.client_id = ANY($1)`

/** Stores only the SHA-256 of tokens. Caches nothing, so that every replica rejects a deleted key at once. */
export function createClientStore({ prisma, pool }: Pick<FacilitatorDatabase, 'prisma' | 'pool'>) {
  const find = createBatchLoader(async (ids) => {
    const { rows } = await pool.query<Key>({ name: 'client-keys', text: KEYS, values: [ids] })
    return new Map(rows.map((key) => [key.id, key]))
  })

  return {
    /**
     * Undefined if the user already has {@link MAX_LIVE_KEYS}. Locks the user, so that concurrent calls
     * cannot exceed it.
     */
    async create(
      newClient: Omit<Client, 'clientId'>,
    ): Promise<{ client: Client; token: string } | undefined> {
      const token = randomBytes(32).toString('base64url')
      const clientId = `client_${randomBytes(12).toString('hex')}`
      const client = {
        ...newClient,
        clientId,
        scope: operations.filter((one) => newClient.scope.includes(one)),
      }
      const { userId, title, scope, createdAt, expiresAt, payTo, maxPaymentsPerMinute } = client
      const maxFeesPerDay = client.maxFeesPerDay?.toString() ?? null
      const [, inserted] = await prisma.$transaction([
        prisma.$queryRaw`SELECT id FROM users WHERE id = ${userId} FOR no key UPDATE`,
        prisma.$executeRaw`
          INSERT INTO clients (client_id, user_id, token_hash, title, scope, created_at, expires_at, pay_to,
            max_fees_per_day, max_payments_per_minute)
          SELECT ${clientId}, ${userId}, ${sha256(token)}, ${title}, ${scope}, ${createdAt}, ${expiresAt}, ${payTo},
            ${maxFeesPerDay}::numeric, ${maxPaymentsPerMinute}::int
          WHERE ${MAX_LIVE_KEYS} > (
            SELECT count(*) FROM clients
            WHERE user_id = ${userId} AND deleted_at IS NULL AND (expires_at IS NULL OR expires_at > ${createdAt})
          )`,
      ])
      return inserted === 1 ? { client, token } : undefined
    },

    /** Undefined if the key is unknown, wrong, deleted or expired, or its user is disabled. */
    async authenticate(clientId: string, token: string, now: Date): Promise<Caller | undefined> {
      const found = await find(clientId)
      const isMatch = timingSafeEqual(sha256(token), found?.tokenHash ?? NO_HASH)
      const isLive = found?.deletedAt === null && (found.expiresAt === null || found.expiresAt > now)
      if (!found || !isMatch || !isLive || found.isDisabled) return undefined
      const { feeShareBps, userFeeShareBps } = found
      return { ...toClient(found), feeShareBps, userFeeShareBps }
    },

    async list(page: { userId?: number | undefined; offset: number; limit: number }): Promise<Client[]> {
      const { userId, offset, limit } = page
      const found = await prisma.client.findMany({
        where: { deletedAt: null, ...(userId === undefined ? {} : { userId }) },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        skip: offset,
        take: limit,
      })
      return found.map(toClient)
    },

    /** Returns false if there is no such key. Without `userId`: of any user. */
    async remove(clientId: string, userId: number | undefined, now: Date): Promise<boolean> {
      const { count } = await prisma.client.updateMany({
        where: { id: clientId, deletedAt: null, ...(userId === undefined ? {} : { userId }) },
        data: { deletedAt: now },
      })
      return count === 1
    },
  }
}

type StoredClient = Omit<FacilitatorModels.Client, 'maxFeesPerDay'> & {
  maxFeesPerDay: { toFixed(): string } | string | null
}

function toClient(found: StoredClient): Client {
  const { id, userId, title, scope, createdAt, expiresAt, payTo, maxFeesPerDay, maxPaymentsPerMinute } = found
  return {
    clientId: id,
    userId,
    title,
    // A word of a newer version must not become none, which means all.
    scope: scope as Operation[],
    createdAt,
    expiresAt,
    payTo,
    maxFeesPerDay:
      maxFeesPerDay === null
        ? null
        : BigInt(typeof maxFeesPerDay === 'string' ? maxFeesPerDay : maxFeesPerDay.toFixed()),
    maxPaymentsPerMinute,
  }
}
