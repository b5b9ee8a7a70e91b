import { type FacilitatorDatabase, type FacilitatorModels } from '@tollgate/database'
import { sha256 } from '../digest'

export type User = { id: number; email: string; isAdmin: boolean; createdAt: Date }

export type UserStore = ReturnType<typeof createUserStore>

/** Users and their refresh tokens. Emails are in lower case. */
export function createUserStore({ prisma }: Pick<FacilitatorDatabase, 'prisma'>) {
  return {
    /** The new user; undefined where the email is taken. */
    async create(user: { email: string; passwordHash: string; createdAt: Date }): Promise<User | undefined> {
      const [created] = await prisma.user.createManyAndReturn({ data: [user], skipDuplicates: true })
      return created && toUser(created)
    },

    async byEmail(email: string): Promise<{ user: User; passwordHash: string } | undefined> {
      const found = await prisma.user.findUnique({ where: { email } })
      return found ? { user: toUser(found), passwordHash: found.passwordHash } : undefined
    },

    async byId(id: number): Promise<User | undefined> {
      const found = await prisma.user.findUnique({ where: { id } })
      return found ? toUser(found) : undefined
    },

    /** Keeps the token's hash, and drops those of the user's that have expired. */
    async keepRefreshToken(
      userId: number,
      token: string,
      at: { createdAt: Date; expiresAt: Date },
    ): Promise<void> {
      await prisma.refreshToken.deleteMany({ where: { userId, expiresAt: { lte: at.createdAt } } })
      await prisma.refreshToken.create({ data: { hash: sha256(token), userId, ...at } })
    },

    /** Whose refresh token this is; undefined for one that is unknown or has expired. */
    async byRefreshToken(token: string, now: Date): Promise<number | undefined> {
      const found = await prisma.refreshToken.findUnique({ where: { hash: sha256(token) } })
      return found && found.expiresAt > now ? found.userId : undefined
    },
  }
}

const toUser = ({ id, email, isAdmin, createdAt }: FacilitatorModels.User): User => ({
  id,
  email,
  isAdmin,
  createdAt,
})
