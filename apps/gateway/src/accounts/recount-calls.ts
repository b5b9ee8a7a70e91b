import { type GatewayDatabase } from '@tollgate/database'

/** Spending writes usage under the account's lock: a statement that starts under this lock sees all of it. */
export async function recountCalls({ pool }: Pick<GatewayDatabase, 'pool'>, account: bigint) {
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
    // Closing the connection rolls back.
    client.release(true)
    throw error
  }
}
