import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from 'pg'
import { DatabaseProblem } from '../problem'
import type { Progress } from './migrate'

/** The number under which Prisma's own migrators lock, so that ours and theirs exclude each other. */
const PRISMA_MIGRATION_LOCK = 72707369
const ASK_AGAIN_MS = 200

interface LockOptions {
  onProgress: Progress
  signal?: AbortSignal | undefined
  timeoutSeconds?: number | undefined
}

/**
 * Makes this session the only migrator of the database, until it ends. Asks again and again rather than wait inside
 * Postgres: a waiting statement is an open transaction, and CREATE INDEX CONCURRENTLY would wait for it in turn.
 */
export async function holdMigrationLock(
  client: Client,
  { onProgress, signal, timeoutSeconds = 300 }: LockOptions,
): Promise<void> {
  const deadline = performance.now() + timeoutSeconds * 1000
  for (let attempt = 1; ; attempt++) {
    const { rows } = await client.query<{ held: boolean }>('select pg_try_advisory_lock($1) as held', [
      PRISMA_MIGRATION_LOCK,
    ])
    if (rows[0]?.held) return
    if (attempt === 1) onProgress('another migrator is at work; waiting for it', {})
    if (performance.now() > deadline) {
      throw new DatabaseProblem(
        `Another migrator has held the lock for ${timeoutSeconds} s. See who: select pid from pg_locks where locktype = ` +
          `'advisory' and objid = ${PRISMA_MIGRATION_LOCK} and granted. Wait for it, or end a dead one with pg_terminate_backend(pid)`,
      )
    }
    await sleep(ASK_AGAIN_MS, undefined, signal && { signal })
  }
}
