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
}

export type ClientStore = ReturnType<typeof createClientStore>

/** Live keys that a user may have: enough for many shops, and a bound on a client that creates one per payment. */
export const MAX_LIVE_KEYS = 1_000

const nobody = Buffer.alloc(32)

type Key = FacilitatorModels.Client
/** Every verification and settlement begins with it. */
const KEYS = `
  select client_id as id, user_id as "userId", token_hash as "tokenHash", title, scope, created_at as "createdAt",
    expires_at as "expiresAt", deleted_at as "deletedAt"
  from clients where client_id = any($1)`

/** Client keys. Of a token only its SHA-256 is kept; nothing is cached, so that a deleted key is dead at once everywhere. */
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
      const { userId, title, scope, createdAt, expiresAt } = client
      const [, inserted] = await prisma.$transaction([
        prisma.$queryRaw`select id from users where id = ${userId} for no key update`,
        prisma.$executeRaw`
          insert into clients (client_id, user_id, token_hash, title, scope, created_at, expires_at)
          select ${clientId}, ${userId}, ${sha256(token)}, ${title}, ${scope}, ${createdAt}, ${expiresAt}
          where ${MAX_LIVE_KEYS} > (
            select count(*) from clients
            where user_id = ${userId} and deleted_at is null and (expires_at is null or expires_at > ${createdAt})
          )`,
      ])
      return inserted === 1 ? { client, token } : undefined
    },

    /** The client whose key this is; undefined for one that is unknown, wrong, deleted or expired. */
    async authenticate(clientId: string, token: string, now: Date): Promise<Client | undefined> {
      const found = await find(clientId)
      const isRight = timingSafeEqual(sha256(token), found?.tokenHash ?? nobody)
      const isAlive = found?.deletedAt === null && (found.expiresAt === null || found.expiresAt > now)
      return found && isRight && isAlive ? toClient(found) : undefined
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

function toClient({ id, userId, title, scope, createdAt, expiresAt }: FacilitatorModels.Client): Client {
  return {
    clientId: id,
    userId,
    title,
    scope: operations.filter((operation) => scope.includes(operation)),
    createdAt,
    expiresAt,
  }
}
