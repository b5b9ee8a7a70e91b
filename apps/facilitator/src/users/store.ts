import { type FacilitatorDatabase } from '@tollgate/database'
import { sha256 } from '../digest'

export type User = { id: number; email: string; isAdmin: boolean; createdAt: Date }

/**
 * Refresh tokens that a user may have at one time. Beyond it the oldest are dropped; whoever holds one of those logs in
 * again.
 */
export const MAX_REFRESH_TOKENS = 100

export type UserStore = ReturnType<typeof createUserStore>

/** A user to be, with its share of each network's daily fees; null: the configured share of new users. */
type NewUser = Omit<User, 'id'> & { passwordHash: string; feeShareBps?: number | null }

/** Users and their refresh tokens. Emails are in lower case. A disabled user has neither id nor token here. */
export function createUserStore({ prisma, pool }: Pick<FacilitatorDatabase, 'prisma' | 'pool'>) {
  return {
    /** The new user; undefined where the email is taken. */
    async create(user: NewUser): Promise<User | undefined> {
      return insert(prisma, user)
    },

    /**
     * The new user, in exchange for the invitation, which admits one; `uninvited` where it is unknown, used or expired, and
     * undefined where the email is taken: the invitation is then still good.
     */
    createInvited: (user: NewUser, invitation: string): Promise<User | 'uninvited' | undefined> =>
      prisma.$transaction(async (transaction) => {
        const hash = sha256(invitation)
        const [unused] = await transaction.$queryRaw<unknown[]>`
          select from invitations where hash = ${hash} and used_at is null and expires_at > now() for update`
        if (!unused) return 'uninvited'
        const created = await insert(transaction, user)
        if (created)
          await transaction.$executeRaw`update invitations set used_at = now() where hash = ${hash}`
        return created
      }),

    /** Oldest first. */
    list: ({ offset, limit }: { offset: number; limit: number }): Promise<User[]> =>
      prisma.user.findMany({ select: publicly, orderBy: { id: 'asc' }, skip: offset, take: limit }),

    async byEmail(email: string): Promise<{ user: User; passwordHash: string } | undefined> {
      const found = await prisma.user.findUnique({
        where: { email, disabledAt: null },
        select: { ...publicly, passwordHash: true },
      })
      if (!found) return undefined
      const { passwordHash, ...user } = found
      return { user, passwordHash }
    },

    async byId(id: number): Promise<User | undefined> {
      return (
        (await prisma.user.findUnique({ where: { id, disabledAt: null }, select: publicly })) ?? undefined
      )
    },

    /**
     * Keeps the token's hash, and drops those of the user's that have expired or are the oldest beyond
     * {@link MAX_REFRESH_TOKENS}. Logins at the same moment do not count each other; the next one does. A user that was disabled
     * since gets a token that is not kept.
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

    /** Whose refresh token this is; undefined for one that is unknown or has expired. */
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
    select: publicly,
  })
  return created
}

/** All but the password's hash, which is read at login only. */
const publicly = { id: true, email: true, isAdmin: true, createdAt: true } as const

/** Skips rows that a concurrent login is deleting, so that two logins never wait for each other. */
const KEEP = `
with kept as (
  insert into refresh_tokens (hash, user_id, created_at, expires_at)
  select $1, id, $3, $4 from users where id = $2 and disabled_at is null for share
)
delete from refresh_tokens where hash in (
  select hash from refresh_tokens
  where user_id = $2 and (expires_at <= $3 or hash not in (
    select hash from refresh_tokens where user_id = $2 order by created_at desc, hash limit $5
  ))
  for update skip locked
)`
