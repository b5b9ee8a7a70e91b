import { withTransaction, type GatewayDatabase } from '@tollgate/database'
import { type AccessKey as AccessKeyAnswer, type NewAccessKey } from '@tollgate/protocol'
import { randomUUID } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { type Session } from '../auth/sessions'
import { createSecret, hashOfSecret, type AccessKey } from './access-key'

const MAX_PER_WALLET = 100
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

/** $1 to $11. Nothing if the session was ended, or the wallet has as many keys as it may have. */
const CREATE = `
INSERT INTO access_keys
  (id, hash, wallet, pricing_plan_id, label, chains, methods, origins, max_credits, max_credits_per_day, expires_at)
SELECT $1::uuid, $2::bytea, wallet, pricing_plan_id, $4, $5::text[], $6::text[], $7::text[], $8::bigint, $9::bigint, $10::timestamptz
FROM sessions
WHERE id = $3 AND revoked_at IS NULL AND $11 > (
  SELECT count(*) FROM access_keys WHERE access_keys.wallet = sessions.wallet AND ${isUsable()})
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

    /** The secret is not stored. Undefined if the session was ended or the wallet has MAX_PER_WALLET keys. */
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
          MAX_PER_WALLET,
        ],
      }
      const { rows } = await withTransaction(pool, async (client) => {
        await client.query({ name: 'lock-access-keys', text: LOCK_WALLET, values: [session.id] })
        return client.query<Row>(statement)
      })
      return rows[0] && { secret, key: answerOf(rows[0]) }
    },

    /** Those of the wallet that can be used, newest first. */
    async list(wallet: string): Promise<AccessKeyAnswer[]> {
      const text = `SELECT ${COLUMNS} FROM access_keys WHERE wallet = $1 AND ${isUsable()} ORDER BY created_at DESC, id`
      return (await pool.query<Row>({ name: 'list-access-keys', text, values: [wallet] })).rows.map(answerOf)
    },

    /** At once, on every replica: from its commit on no call is charged to the key. False if the wallet has no such key. */
    async delete(wallet: string, id: string): Promise<boolean> {
      const text =
        'UPDATE access_keys SET deleted_at = now() WHERE id = $1 AND wallet = $2 AND deleted_at IS NULL'
      return (await pool.query({ name: 'delete-access-key', text, values: [id, wallet] })).rowCount === 1
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
