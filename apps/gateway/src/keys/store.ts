import { withTransaction, type GatewayDatabase } from '@tollgate/database'
import { type AccessKey as AccessKeyAnswer, type NewAccessKey } from '@tollgate/protocol'
import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Session } from '../auth/sessions'
import { createSecret, hashOfSecret, type AccessKey } from './access-key'

const MAX_PER_ACCOUNT = 100
const MAX_REMEMBERED = 10_000

type Row = Omit<AccessKeyAnswer, 'max_credits' | 'max_credits_per_day' | 'created_at' | 'expires_at'> & {
  max_credits: bigint | null
  max_credits_per_day: bigint | null
  spent_credits: bigint
  spent_credits_today: bigint
  created_at: Date
  expires_at: Date | null
}

const COLUMNS = `id, label, pricing_plan_id, max_credits, max_credits_per_day, chains, methods, origins, spent AS spent_credits,
  CASE day WHEN (now() AT TIME ZONE 'UTC')::date THEN spent_on_day ELSE 0 END AS spent_credits_today, created_at, expires_at`

/** Counts under a lock of the wallet, which blocks no spends, so that concurrent calls cannot exceed the maximum. */
const LOCK_WALLET = `SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(' ', 'access keys', wallet), 0)) FROM sessions WHERE id = $1`

/**
 * The keys of the account of `sessions`. A key of a wallet has its address on every chain; a contract (EIP-1271) has proved it on the
 * chain of its session only, and elsewhere another contract may have it.
 */
const IS_OWN = `access_keys.wallet = sessions.wallet AND (sessions.signed_by = 'key' OR EXISTS (
  SELECT FROM pricing_plans AS plan
  WHERE plan.id = access_keys.pricing_plan_id AND plan.ecosystem = sessions.ecosystem AND plan.chain_id = sessions.chain_id))`

/** $1 id of the session. */
const LIST = `
SELECT ${COLUMNS} FROM access_keys
WHERE EXISTS (SELECT FROM sessions WHERE sessions.id = $1 AND ${IS_OWN}) AND wallet = (SELECT wallet FROM sessions WHERE id = $1)
  AND ${isUsable()}
ORDER BY created_at DESC, id`

/** $1 id of the session, $2 id of the key. */
const DELETE = `
UPDATE access_keys SET deleted_at = now() FROM sessions
WHERE sessions.id = $1 AND revoked_at IS NULL AND access_keys.id = $2 AND deleted_at IS NULL AND ${IS_OWN}`

/** $1 to $11. Nothing if the session was ended, or the account has as many keys as it may have. */
const CREATE = `
INSERT INTO access_keys
  (id, hash, wallet, pricing_plan_id, label, chains, methods, origins, max_credits, max_credits_per_day, expires_at)
SELECT $1::uuid, $2::bytea, wallet, pricing_plan_id, $4, $5::text[], $6::text[], $7::text[], $8::bigint, $9::bigint, $10::timestamptz
FROM sessions
WHERE id = $3 AND revoked_at IS NULL AND $11 > (
  SELECT count(*) FROM access_keys WHERE ${IS_OWN} AND ${isUsable()})
RETURNING ${COLUMNS}`

function isUsable() {
  return 'deleted_at IS NULL AND (expires_at IS NULL OR expires_at > now())'
}

export type AccessKeyStore = ReturnType<typeof createAccessKeyStore>

export function createAccessKeyStore({ pool }: Pick<GatewayDatabase, 'pool'>) {
  /** By hash. Nothing in it can change; a spend checks that the key is not deleted. */
  const remembered = new LRUCache<string, AccessKey>({ max: MAX_REMEMBERED })

  return {
    isRemembered: (secret: string) => remembered.has(hashOfSecret(secret).toString('base64')),

    async find(secret: string): Promise<AccessKey | undefined> {
      const hash = hashOfSecret(secret)
      const name = hash.toString('base64')
      const known = remembered.get(name)
      if (known) return known
      const { rows } = await pool.query<AccessKey>({
        name: 'find-access-key',
        text: `SELECT id, wallet, pricing_plan_id AS "planId", chains, methods, origins FROM access_keys
          WHERE hash = $1 AND ${isUsable()}`,
        values: [hash],
      })
      if (rows[0]) remembered.set(name, rows[0])
      return rows[0]
    },

    /** A dead key counts against the client's address from then on, not against its wallet. */
    forget(id: string): void {
      for (const [name, key] of remembered.entries()) if (key.id === id) remembered.delete(name)
    },

    /** The secret is not stored. Undefined if the session was ended or the account has MAX_PER_ACCOUNT keys. */
    async create(
      session: Session,
      key: NewAccessKey,
    ): Promise<{ secret: string; key: AccessKeyAnswer } | undefined> {
      const secret = createSecret()
      const statement = {
        name: 'create-access-key',
        text: CREATE,
        values: [
          randomUUID(),
          hashOfSecret(secret),
          session.id,
          key.label,
          key.chains,
          key.methods,
          key.origins,
          key.max_credits ?? null,
          key.max_credits_per_day ?? null,
          key.expires_at ?? null,
          MAX_PER_ACCOUNT,
        ],
      }
      const { rows } = await withTransaction(pool, async (client) => {
        await client.query({ name: 'lock-access-keys', text: LOCK_WALLET, values: [session.id] })
        return client.query<Row>(statement)
      })
      return rows[0] && { secret, key: answerOf(rows[0]) }
    },

    /** Those of the session's account that can be used, newest first. */
    async list({ id }: Session): Promise<AccessKeyAnswer[]> {
      const { rows } = await pool.query<Row>({ name: 'list-access-keys', text: LIST, values: [id] })
      return rows.map(answerOf)
    },

    /** No replica charges a call to the key after the commit. Returns false if the session's account has no such key. */
    async delete(session: Session, id: string): Promise<boolean> {
      const statement = { name: 'delete-access-key', text: DELETE, values: [session.id, id] }
      return (await pool.query(statement)).rowCount === 1
    },
  }
}

const answerOf = (row: Row): AccessKeyAnswer => ({
  ...row,
  max_credits: row.max_credits === null ? null : Number(row.max_credits),
  max_credits_per_day: row.max_credits_per_day === null ? null : Number(row.max_credits_per_day),
  spent_credits: Number(row.spent_credits),
  spent_credits_today: Number(row.spent_credits_today),
  created_at: row.created_at.toISOString(),
  expires_at: row.expires_at?.toISOString() ?? null,
})
