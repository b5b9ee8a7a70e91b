import { withTransaction, type Pool, type PoolClient } from '@tollgate/database'

/** A stalled replica must not keep row locks that other replicas wait for: Postgres ends its session and rolls back. */
export const STALL_LIMIT_SECONDS = 2
const LIMIT_STALLS = `SET LOCAL idle_in_transaction_session_timeout = '${STALL_LIMIT_SECONDS}s'`

/** Commits all statements of `work` or none, on a connection of the pool. */
export const inShortTransaction = <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> =>
  withTransaction(pool, async (client) => {
    await client.query(LIMIT_STALLS)
    return work(client)
  })
