import { type FacilitatorDatabase } from '@tollgate/database'
import { sha256 } from '../digest'

export type User = { id: number; email: string; isAdmin: boolean; createdAt: Date }

/** `sessionId` undefined: by an access token of the version before this one, which named no session. */
export type SignedInUser = User & { sessionId: string | undefined }

export type UserStore = ReturnType<typeof createUserStore>

/** `feeShareBps` null: the configured share of new users. */
type NewUser = Omit<User, 'id'> & { passwordHash: string; feeShareBps?: number | null }

/** Emails are in lower case. Lookups do not find disabled users, which includes deleted ones. */
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

    /** Caches nothing, so that every replica rejects an ended session at once. */
    async bySession(
      { userId, sessionId }: { userId: number; sessionId: string | undefined },
      now: Date,
    ): Promise<SignedInUser | undefined> {
      const { rows } = await pool.query<User>({
        name: 'signed-in-user',
        text: SIGNED_IN,
        values: [userId, sessionId, now],
      })
      return rows[0] && { ...rows[0], sessionId }
    },
  }
}

const SIGNED_IN = `
SELECT id, email, is_admin AS "isAdmin", created_at AS "createdAt" FROM users
WHERE id = $1 AND disabled_at IS NULL AND ($2::uuid IS NULL
  OR EXISTS (SELECT FROM refresh_tokens s WHERE s.id = $2 AND s.user_id = users.id AND s.expires_at > $3))`

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
