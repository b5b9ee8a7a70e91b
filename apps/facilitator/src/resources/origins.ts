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
        `INSERT INTO resource_origins AS known (user_id, origin, due_at)
         SELECT $1, $2, $3 WHERE EXISTS (SELECT FROM resource_origins WHERE user_id = $1 AND origin = $2)
           OR (SELECT count(*) FROM resource_origins WHERE user_id = $1) < ${MAX_ORIGINS}
         ON CONFLICT (user_id, origin) DO UPDATE
         SET due_at = least(known.due_at, greatest($3, known.attempted_at + ${LEASE}))`,
        [userId, origin, now],
      )
    },

    /** A check that is due; each is given to one replica. */
    async claim(now: Date): Promise<DueCheck | undefined> {
      const { rows } = await pool.query<DueCheck>(
        `WITH due AS (
           SELECT user_id, origin FROM resource_origins WHERE due_at <= $1 ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
         )
         UPDATE resource_origins AS claimed SET due_at = $1::timestamptz + ${LEASE}, attempted_at = $1
         FROM due JOIN users ON users.id = due.user_id
         WHERE claimed.user_id = due.user_id AND claimed.origin = due.origin
         RETURNING claimed.user_id AS "userId", claimed.origin, users.handle AS owner`,
        [now],
      )
      return rows[0]
    },

    /** Writes down what a check found. Only a proof is checked again unasked. */
    async record({ userId, origin }: Origin, result: OwnershipResult, now: Date): Promise<void> {
      await pool.query(
        `UPDATE resource_origins SET result = $3, checked_at = $4,
           verified_at = CASE $3 WHEN 'verified' THEN $4 WHEN 'unreachable' THEN verified_at END,
           due_at = CASE
             WHEN $3 = 'verified' OR ($3 = 'unreachable' AND verified_at > $4::timestamptz - ${HOLDS})
             THEN $4::timestamptz + ${RECHECK}
           END
         WHERE user_id = $1 AND origin = $2`,
        [userId, origin, result, now],
      )
    },

    async forget(now: Date): Promise<void> {
      await pool.query(
        `DELETE FROM resource_origins WHERE due_at IS NULL AND checked_at < $1::timestamptz - ${FORGOTTEN}`,
        [now],
      )
    },

    /** What is known of them. A proof that is too old is none. */
    async statesOf(origins: readonly Origin[], now: Date): Promise<OwnershipState[]> {
      if (origins.length === 0) return []
      const { rows } = await pool.query<OwnershipState>(
        `SELECT user_id AS "userId", origin, result,
           CASE WHEN verified_at > $3::timestamptz - ${HOLDS} THEN verified_at END AS "verifiedAt"
         FROM resource_origins
         WHERE (user_id, origin) IN (SELECT * FROM unnest($1::int[], $2::text[]))`,
        [origins.map(({ userId }) => userId), origins.map(({ origin }) => origin), now],
      )
      return rows
    },
  }
}
