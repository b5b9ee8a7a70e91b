import { isRolledBack, type GatewayDatabase } from '@tollgate/database'
import { isLockTimeout } from './ledger-errors'
import { type BatchStatement } from './ledger-sql'

export const batchOptions = { isRolledBack, maxItems: 512, maxSplittingMs: 5_000 }

/**
 * Waits for locked rows; after a lock timeout, skips them. By the same connection: Postgres reports an error before it releases the
 * locks of the failed statement, so that by another one all its rows would still be locked.
 */
export const createBatchExecutor =
  ({ pool }: Pick<GatewayDatabase, 'pool'>) =>
  async <Row extends object>(name: string, { waiting, skipping }: BatchStatement, values: unknown[]) => {
    const client = await pool.connect()
    let isUsable = false
    try {
      const { rows } = await client.query<Row>({ name, text: waiting, values }).catch((error: unknown) => {
        if (!isLockTimeout(error)) throw error
        return client.query<Row>({ name: `${name}-skipping`, text: skipping, values })
      })
      isUsable = true
      return rows
    } finally {
      client.release(!isUsable)
    }
  }

/** A list parameter of values that need no quotes: numbers, UUIDs and words of this code. The driver would quote each. */
export const listOf = (values: readonly (string | number | bigint | boolean | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`
