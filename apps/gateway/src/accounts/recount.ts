import { type GatewayDatabase } from '@tollgate/database'

/**
 * Counts an account's calls again, and answers both numbers. Whoever spends writes usage under the lock of the account: a
 * statement that begins once it is held sees all of it, and none comes before it is let go.
 */
export async function recount({ pool }: Pick<GatewayDatabase, 'pool'>, account: bigint) {
  const client = await pool.connect()
  const calls = async (text: string) =>
    (await client.query<{ calls: bigint }>(text, [account])).rows[0]?.calls.toString()
  try {
    await client.query('BEGIN')
    const before = await calls('SELECT calls FROM accounts WHERE id = $1 FOR UPDATE')
    const after = await calls(
      'UPDATE accounts SET calls = (SELECT count(*) FROM usage WHERE account_id = $1) WHERE id = $1 RETURNING calls',
    )
    await client.query('COMMIT')
    client.release()
    return { before, after }
  } catch (error) {
    // A connection that is closed takes back what it had begun.
    client.release(true)
    throw error
  }
}
