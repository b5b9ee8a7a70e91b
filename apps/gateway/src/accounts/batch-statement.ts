import { isRolledBack, type GatewayDatabase } from '@tollgate/database'
import { isLockTimeout } from './ledger-errors'
import { type BatchStatement } from './ledger-sql'

export const batchOptions = { isRolledBack, maxItems: 512, maxSplittingMs: 5_000 }

/** Waits for locked rows; after a lock timeout, skips them. */
export const createBatchExecutor =
  ({ pool }: Pick<GatewayDatabase, 'pool'>) =>
  async <Row extends object>(name: string, { waiting, skipping }: BatchStatement, values: unknown[]) => {
    try {
      return (await pool.query<Row>({ name, text: waiting, values })).rows
    } catch (error) {
      if (!isLockTimeout(error)) throw error
      return (await pool.query<Row>({ name: `${name}-skipping`, text: skipping, values })).rows
    }
  }

/** A list parameter of values that need no quotes: numbers, UUIDs and words of this code. The driver would quote each. */
export const listOf = (values: readonly (string | number | bigint | boolean | null)[]): string =>
  `{${values.map((value) => (value === null ? 'NULL' : value)).join(',')}}`
