import { type FacilitatorDatabase } from '@tollgate/database'
import { sha256 } from '../digest'

export type User = { id: number; email: string; isAdmin: boolean; createdAt: Date }

/** Per user. The oldest tokens above it are deleted. */
export const MAX_REFRESH_TOKENS = 100

export type UserStore = ReturnType<typeof createUserStore>

/** `feeShareBps` null: the configured share of new users. */
type NewUser = Omit<User, 'id'> & { passwordHash: string; feeShareBps?: number | null }

/** Emails are in lower case. Lookups do not find disabled users. */
export function createUserStore({ prisma, pool }: Pick<FacilitatorDatabase, 'prisma' | 'pool'>) {
  return {
    async create(user: NewUser): Promise<User | undefined> {
      return insert(prisma, user)
    },

    /** `uninvited` if the invitation is unknown, used, expired or for another email. Undefined if the email is taken; the invitation stays valid. */
    createInvited: (user: NewUser, invitation: string): Promise<User | 'uninvited' | undefined> =>
      prisma.$transaction(async (transaction) => {
        const hash = sha256(invitation)
        const [unused] = await transaction.$queryRaw<unknown[]>`
          SELECT FROM invitations
          WHERE hash = ${hash} AND used_at IS NULL AND (expires_at IS NULL OR expires_at > now())
            AND (email IS NULL OR email = ${user.email})
          FOR UPDATE`
        if (!unused) return 'uninvited'
        const created = await insert(transaction, user)
        if (created)
          await transaction.$executeRaw`UPDATE invitations SET used_at = now() WHERE hash = ${hash}`
        return created
      }),

    async byEmail(email: string): Promise<{ user: User; passwordHash: string } | undefined> {
      const found = await prisma.user.findUnique({
        where: { email, disabledAt: null },
        select: { ...publicColumns, passwordHash: true },
      })
      if (!found) return undefined
      const { passwordHash, ...user } = found
      return { user, passwordHash }
    },

    async byId(id: number): Promise<User | undefined> {
      return (
        (await prisma.user.findUnique({ where: { id, disabledAt: null }, select: publicColumns })) ??
        undefined
      )
    },

    /**
     * Stores the token's hash, and deletes the user's tokens that have expired or exceed {@link MAX_REFRESH_TOKENS}. Concurrent
     * logins may exceed it until the next one.
     */
    async keepRefreshToken(
      userId: number,
      token: string,
      { createdAt, expiresAt }: { createdAt: Date; expiresAt: Date },
    ): Promise<void> {
      await pool.query({
        name: 'keep-refresh-token',
        text: KEEP,
        values: [sha256(token), userId, createdAt, expiresAt, MAX_REFRESH_TOKENS - 1],
      })
    },

    async byRefreshToken(token: string, now: Date): Promise<number | undefined> {
      const found = await prisma.refreshToken.findUnique({
        where: { hash: sha256(token), user: { disabledAt: null } },
      })
      return found && found.expiresAt > now ? found.userId : undefined
    },
  }
}

async function insert(
  prisma: Pick<FacilitatorDatabase['prisma'], 'user'>,
  user: NewUser,
): Promise<User | undefined> {
  const [created] = await prisma.user.createManyAndReturn({
    data: [user],
    skipDuplicates: true,
    select: publicColumns,
  })
  return created
}

const publicColumns = { id: true, email: true, isAdmin: true, createdAt: true } as const

/** Skips rows that a concurrent login deletes, so that logins never block each other. */
const KEEP = `
WITH kept AS (
  INSERT INTO refresh_tokens (hash, user_id, created_at, expires_at)
  SELECT $1, id, $3, $4 FROM users WHERE id = $2 AND disabled_at IS NULL FOR SHARE
)
DELETE FROM refresh_tokens WHERE hash IN (
  SELECT hash FROM refresh_tokens
  WHERE user_id = $2 AND (expires_at <= $3 OR hash NOT IN (
    SELECT hash FROM refresh_tokens WHERE user_id = $2 ORDER BY created_at DESC, hash LIMIT $5
  ))
  FOR UPDATE SKIP LOCKED
)`
