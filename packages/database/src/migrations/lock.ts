import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { DatabaseSetupError } from '../database-setup-error'
import { type Progress } from './progress'

/** The advisory lock of Prisma's own migrators, which thereby exclude ours. */
const PRISMA_MIGRATION_LOCK = 72707369
const LOCK_RETRY_MS = 200

type LockOptions = {
  onProgress: Progress
  signal?: AbortSignal | undefined
  timeoutSeconds?: number | undefined
}

/**
 * Makes this session the only migrator until it ends. Polls instead of waiting inside Postgres: a waiting
 * statement is an open transaction, for which CREATE INDEX CONCURRENTLY would wait in turn (deadlock).
 */
export async function holdMigrationLock(
  client: Client,
  { onProgress, signal, timeoutSeconds = 300 }: LockOptions,
): Promise<void> {
  const deadline = performance.now() + timeoutSeconds * 1000
  for (let attempt = 1; ; attempt++) {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [
      PRISMA_MIGRATION_LOCK,
    ])
    if (rows[0]?.held) return
    if (attempt === 1) onProgress('migration lock held by another migrator; waiting', {})
    if (performance.now() > deadline) {
      throw new DatabaseSetupError(
        `Another migrator has held the lock for ${timeoutSeconds} s. See who: SELECT pid FROM pg_locks WHERE locktype = ` +
          `'advisory' and objid = ${PRISMA_MIGRATION_LOCK} AND granted. Wait for it, or end a dead one with pg_terminate_backend(pid)`,
      )
    }
    await sleep(LOCK_RETRY_MS, undefined, signal && { signal })
  }
}
