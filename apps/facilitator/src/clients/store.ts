import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { operations, type Operation } from '@tollgate/protocol'
import { sha256 } from '../digest'
import { createLookup } from '../lookup'

/** A key of a resource server, without its token. */
export type Client = {
  clientId: string
  userId: number
  title: string
  /** None means all operations. */
  scope: readonly Operation[]
  createdAt: Date
  expiresAt: Date | null
  /** The recipients that it may verify and settle payments to. None means any. */
  payTo: readonly string[]
}

/** A client that sends a request, with the shares of the daily fees that its key and its user may cause; null: not decided. */
export type Caller = Client & { feeShareBps: number | null; userFeeShareBps: number | null }

export type ClientStore = ReturnType<typeof createClientStore>

/** Live keys that a user may have: enough for many shops, and a bound on a client that creates one per payment. */
export const MAX_LIVE_KEYS = 1_000

const nobody = Buffer.alloc(32)

type Key = FacilitatorModels.Client & { userFeeShareBps: number | null; isDisabled: boolean }
/** Every verification and settlement begins with it. */
const KEYS = `
  select c.client_id as id, c.user_id as "userId", c.token_hash as "tokenHash", c.title, c.scope, c.created_at as "createdAt",
    c.expires_at as "expiresAt", c.deleted_at as "deletedAt", c.pay_to as "payTo", c.fee_share_bps as "feeShareBps",
    u.fee_share_bps as "userFeeShareBps", u.disabled_at is not null as "isDisabled"
  from clients c join users u on u.id = c.user_id where c.client_id = any($1)`

/** Client keys. Of a token only its SHA-256 is kept; nothing is cached, so that a deleted key, or one of a disabled user, is dead at once everywhere. */
export function createClientStore({ prisma, pool }: Pick<FacilitatorDatabase, 'prisma' | 'pool'>) {
  const find = createLookup(async (ids) => {
    const { rows } = await pool.query<Key>({ name: 'client-keys', text: KEYS, values: [ids] })
    return new Map(rows.map((key) => [key.id, key]))
  })

  return {
    /**
     * The token is returned here and never again. Undefined where the user has {@link MAX_LIVE_KEYS} already; the row lock
     * on the user makes concurrent calls wait, so that each counts the others' keys.
     */
    async create(asked: Omit<Client, 'clientId'>): Promise<{ client: Client; token: string } | undefined> {
      const token = randomBytes(32).toString('base64url')
      const clientId = `client_${randomBytes(12).toString('hex')}`
      const client = { ...asked, clientId, scope: operations.filter((word) => asked.scope.includes(word)) }
      const { userId, title, scope, createdAt, expiresAt, payTo } = client
      const [, inserted] = await prisma.$transaction([
        prisma.$queryRaw`select id from users where id = ${userId} for no key update`,
        prisma.$executeRaw`
          insert into clients (client_id, user_id, token_hash, title, scope, created_at, expires_at, pay_to)
          select ${clientId}, ${userId}, ${sha256(token)}, ${title}, ${scope}, ${createdAt}, ${expiresAt}, ${payTo}
          where ${MAX_LIVE_KEYS} > (
            select count(*) from clients
            where user_id = ${userId} and deleted_at is null and (expires_at is null or expires_at > ${createdAt})
          )`,
      ])
      return inserted === 1 ? { client, token } : undefined
    },

    /** The client whose key this is; undefined for one that is unknown, wrong, deleted or expired, or whose user is disabled. */
    async authenticate(clientId: string, token: string, now: Date): Promise<Caller | undefined> {
      const found = await find(clientId)
      const isRight = timingSafeEqual(sha256(token), found?.tokenHash ?? nobody)
      const isAlive = found?.deletedAt === null && (found.expiresAt === null || found.expiresAt > now)
      if (!found || !isRight || !isAlive || found.isDisabled) return undefined
      const { feeShareBps, userFeeShareBps } = found
      return { ...toClient(found), feeShareBps, userFeeShareBps }
    },

    /** Newest first. `userId` left out: everybody's. */
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

    /** Whether there was such a key to delete. `userId` left out: anybody's. */
    async remove(clientId: string, userId: number | undefined, now: Date): Promise<boolean> {
      const { count } = await prisma.client.updateMany({
        where: { id: clientId, deletedAt: null, ...(userId === undefined ? {} : { userId }) },
        data: { deletedAt: now },
      })
      return count === 1
    },
  }
}

function toClient(found: FacilitatorModels.Client): Client {
  const { id, userId, title, scope, createdAt, expiresAt, payTo } = found
  return {
    clientId: id,
    userId,
    title,
    scope: operations.filter((operation) => scope.includes(operation)),
    createdAt,
    expiresAt,
    payTo,
  }
}
