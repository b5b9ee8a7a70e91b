import { withTransaction, type Pool, type PoolClient } from '@tollgate/database'
import { type Operation } from '@tollgate/protocol'
import { sha256 } from '../../digest'
import { type ClientKey } from './key-place'

export type ClientKeyStore = ReturnType<typeof createClientKeyStore>

export type NewKey = {
  key: ClientKey
  /** The user that is to own a key whose id is unknown; created if there is none. */
  owner: { email: string; passwordHash: string }
  /** Its user owns the new key instead, which gets its fee share. */
  replaced: string | undefined
  title: string
  scope: readonly Operation[]
  /** Of the key and its user, unless an operator has set others; undefined: the service's. */
  feeShareBps: number | undefined
}

type Registered = { userId: number; email: string }
type Row = Registered & { tokenHash: Buffer; isDeleted: boolean; isExpired: boolean; isDisabled: boolean }

const ADD_USER = 'INSERT INTO users (email, password_hash) VALUES ($1, $2) ON CONFLICT (email) DO NOTHING'
const ADD_CLIENT = `
INSERT INTO clients (client_id, user_id, token_hash, title, scope, fee_share_bps)
SELECT $1, coalesce(replaced.user_id, u.id), $2, $3, $4, replaced.fee_share_bps
FROM users u LEFT JOIN clients replaced ON replaced.client_id = $6 WHERE u.email = $5
ON CONFLICT (client_id) DO NOTHING`
const FIND = `
SELECT u.id AS "userId", u.email, c.token_hash AS "tokenHash", c.deleted_at IS NOT NULL AS "isDeleted",
  coalesce(c.expires_at <= now(), false) AS "isExpired", u.disabled_at IS NOT NULL AS "isDisabled"
FROM clients c JOIN users u ON u.id = c.user_id WHERE c.client_id = $1`
const SHARE_OF_USER = 'UPDATE users SET fee_share_bps = $2 WHERE id = $1 AND fee_share_bps IS NULL'
const SHARE_OF_KEY = 'UPDATE clients SET fee_share_bps = $2 WHERE client_id = $1 AND fee_share_bps IS NULL'

export function createClientKeyStore(pool: Pool) {
  return {
    /** Idempotent, also concurrently. Returns the reason if the key cannot be used. */
    register: (newKey: NewKey): Promise<Registered | string> =>
      withTransaction(pool, async (session) => {
        const found = (await find(session, newKey.key)) ?? (await add(session, newKey))
        const problem = problemOf(found, newKey.key)
        if (problem !== undefined) return problem
        const { userId, email } = found
        if (newKey.feeShareBps !== undefined) {
          await session.query(SHARE_OF_USER, [userId, newKey.feeShareBps])
          await session.query(SHARE_OF_KEY, [newKey.key.id, newKey.feeShareBps])
        }
        return { userId, email }
      }),

    /** False if there is no such key. */
    async remove(clientId: string): Promise<boolean> {
      const { rowCount } = await pool.query(
        'UPDATE clients SET deleted_at = now() WHERE client_id = $1 AND deleted_at IS NULL',
        [clientId],
      )
      return rowCount === 1
    },
  }
}

async function find(session: PoolClient, { id }: ClientKey): Promise<Row | undefined> {
  return (await session.query<Row>(FIND, [id])).rows[0]
}

async function add(session: PoolClient, { key, owner, replaced, title, scope }: NewKey): Promise<Row> {
  await session.query(ADD_USER, [owner.email, owner.passwordHash])
  const values = [key.id, sha256(key.token), title, scope, owner.email, replaced ?? null]
  await session.query(ADD_CLIENT, values)
  const added = await find(session, key)
  if (!added) throw new Error('the new client key is gone')
  return added
}

function problemOf({ tokenHash, isDeleted, isExpired, isDisabled, email }: Row, { token }: ClientKey) {
  if (!tokenHash.equals(sha256(token))) return 'the facilitator has another token for it'
  if (isDeleted) return 'it is deleted'
  if (isExpired) return 'it has expired'
  if (isDisabled) return `its user ${email} is disabled`
  return undefined
}
