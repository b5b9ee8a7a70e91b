import { type FacilitatorDatabase } from '@tollgate/database'
import { type OwnershipResult } from './discovery-document'

/** Checked origins per user; resources of further origins stay unchecked. */
export const MAX_ORIGINS = 100

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

/** Must exceed the timeout of a check: then another replica repeats the check of one that died. */
const LEASE = "interval '1 minute'"
const RECHECK = "interval '1 day'"
/** A proof stays valid for this long while the origin is unreachable. */
const HOLDS = "interval '7 days'"
/** Unconfirmed origins are deleted after this. */
const FORGOTTEN = "interval '30 days'"

export type OriginStore = ReturnType<typeof createOriginStore>

export function createOriginStore({ pool }: Pick<FacilitatorDatabase, 'pool'>) {
  return {
    /** Schedules a check: now, or a minute after the last one. */
    async request({ userId, origin }: Origin, now: Date): Promise<void> {
      await pool.query(
        `INSERT INTO resource_origins AS known (user_id, origin, due_at)
         SELECT id, $2, $3 FROM users WHERE id = $1 AND deleted_at IS NULL
           AND (EXISTS (SELECT FROM resource_origins WHERE user_id = $1 AND origin = $2)
             OR (SELECT count(*) FROM resource_origins WHERE user_id = $1) < ${MAX_ORIGINS})
         FOR KEY SHARE
         ON CONFLICT (user_id, origin) DO UPDATE
         SET due_at = least(known.due_at, greatest($3, known.attempted_at + ${LEASE}))`,
        [userId, origin, now],
      )
    },

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

    /** Stores the result. Only proven origins are checked again automatically. */
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

    /** An expired proof counts as none. */
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
