import { type FacilitatorDatabase } from '@tollgate/database'
import { type OwnershipResult } from './discovery-document'

/** Origins of one user that are checked; resources of further ones stay unchecked. */
export const MAX_ORIGINS = 100

/** The origin whose `/.well-known/x402` can prove a resource; none for one that is a path only. */
export function originOf(resource: string): string | undefined {
  if (!/^https?:/i.test(resource) || !URL.canParse(resource)) return undefined
  return new URL(resource).origin
}

export type Origin = { userId: number; origin: string }
export type OwnershipState = Origin & {
  result: OwnershipResult | null
  verifiedAt: Date | null
}
export type DueCheck = Origin & { owner: string }

/** A replica that dies during a check leaves it to another after this. It exceeds the timeout of a check. */
const LEASE = "interval '1 minute'"
const RECHECK = "interval '1 day'"
/** How long a proof holds though the origin cannot be reached. */
const HOLDS = "interval '7 days'"
/** What no check has confirmed is forgotten after this. */
const FORGOTTEN = "interval '30 days'"

export type OriginStore = ReturnType<typeof createOriginStore>

/** The origins of registered resources, and which of them name the user that registered. */
export function createOriginStore({ pool }: Pick<FacilitatorDatabase, 'pool'>) {
  return {
    /** Has an origin checked: at once, or a minute after its last check. */
    async request({ userId, origin }: Origin, now: Date): Promise<void> {
      await pool.query(
        `insert into resource_origins as known (user_id, origin, due_at)
         select $1, $2, $3 where exists (select from resource_origins where user_id = $1 and origin = $2)
           or (select count(*) from resource_origins where user_id = $1) < ${MAX_ORIGINS}
         on conflict (user_id, origin) do update
         set due_at = least(known.due_at, greatest($3, known.attempted_at + ${LEASE}))`,
        [userId, origin, now],
      )
    },

    /** A check that is due; each is given to one replica. */
    async claim(now: Date): Promise<DueCheck | undefined> {
      const { rows } = await pool.query<DueCheck>(
        `with due as (
           select user_id, origin from resource_origins where due_at <= $1 order by due_at limit 1 for update skip locked
         )
         update resource_origins as claimed set due_at = $1::timestamptz + ${LEASE}, attempted_at = $1
         from due join users on users.id = due.user_id
         where claimed.user_id = due.user_id and claimed.origin = due.origin
         returning claimed.user_id as "userId", claimed.origin, users.handle as owner`,
        [now],
      )
      return rows[0]
    },

    /** Writes down what a check found. Only a proof is checked again unasked. */
    async record({ userId, origin }: Origin, result: OwnershipResult, now: Date): Promise<void> {
      await pool.query(
        `update resource_origins set result = $3, checked_at = $4,
           verified_at = case $3 when 'verified' then $4 when 'unreachable' then verified_at end,
           due_at = case
             when $3 = 'verified' or ($3 = 'unreachable' and verified_at > $4::timestamptz - ${HOLDS})
             then $4::timestamptz + ${RECHECK}
           end
         where user_id = $1 and origin = $2`,
        [userId, origin, result, now],
      )
    },

    async forget(now: Date): Promise<void> {
      await pool.query(
        `delete from resource_origins where due_at is null and checked_at < $1::timestamptz - ${FORGOTTEN}`,
        [now],
      )
    },

    /** What is known of them. A proof that is too old is none. */
    async statesOf(origins: readonly Origin[], now: Date): Promise<OwnershipState[]> {
      if (origins.length === 0) return []
      const { rows } = await pool.query<OwnershipState>(
        `select user_id as "userId", origin, result,
           case when verified_at > $3::timestamptz - ${HOLDS} then verified_at end as "verifiedAt"
         from resource_origins
         where (user_id, origin) in (select * from unnest($1::int[], $2::text[]))`,
        [origins.map(({ userId }) => userId), origins.map(({ origin }) => origin), now],
      )
      return rows
    },
  }
}
