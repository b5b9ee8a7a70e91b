import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { operations, type Operation } from '@tollgate/protocol'
import { sha256 } from '../digest'

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

const nobody = Buffer.alloc(32)

/** Client keys. Of a token only its SHA-256 is kept; nothing is cached, so that a deleted key is dead at once everywhere. */
export function createClientStore({ prisma }: Pick<FacilitatorDatabase, 'prisma'>) {
  return {
    /** The token is told here and never again. */
    async create(client: Omit<Client, 'clientId'>): Promise<{ client: Client; token: string }> {
      const token = randomBytes(32).toString('base64url')
      const created = await prisma.client.create({
        data: {
          id: `client_${randomBytes(12).toString('hex')}`,
          tokenHash: sha256(token),
          ...client,
          scope: [...client.scope],
        },
      })
      return { client: toClient(created), token }
    },

    /** The client whose key this is; undefined for one that is unknown, wrong, deleted or expired. */
    async authenticate(clientId: string, token: string, now: Date): Promise<Client | undefined> {
      const found = await prisma.client.findUnique({ where: { id: clientId } })
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
