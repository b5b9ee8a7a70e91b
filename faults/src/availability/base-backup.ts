import { execFile } from 'node:child_process'
import { chownSync, copyFileSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { openGatewayDatabase } from '@tollgate/database'
import { startPostgres } from '@tollgate/devnet'
import { type World } from '@tollgate/e2e/testing/world'

const run = promisify(execFile)

/**
 * A base backup of the running server into `folder`, as pg_basebackup makes it, which the npm package of Postgres lacks: by the
 * functions of https://www.postgresql.org/docs/current/continuous-archiving.html, with the log that was written meanwhile.
 */
export async function backUp({ infrastructure }: World, folder: string): Promise<void> {
  const { pool, close } = openGatewayDatabase({ url: infrastructure.postgres.gateway, poolSize: 1 })
  const session = await pool.connect()
  try {
    const { rows } = await session.query<{ data_directory: string }>('SHOW data_directory')
    const data = rows[0]?.data_directory ?? ''
    const copy = join(folder, 'data')
    mkdirSync(folder, { mode: 0o711, recursive: true })
    copyFileSync(join(dirname(data), 'password'), join(folder, 'password'))
    await session.query("SELECT pg_backup_start('restore', fast => true)")
    await copyChanging(data, copy)
    const { rows: stopped } = await session.query<{ labelfile: string }>(
      'SELECT labelfile FROM pg_backup_stop(wait_for_archive => false)',
    )
    await session.query('SELECT pg_switch_wal()')
    await copyChanging(`${data}/pg_wal/.`, join(copy, 'pg_wal'))
    const label = join(copy, 'backup_label')
    writeFileSync(label, stopped[0]?.labelfile ?? '', { mode: 0o600 })
    const { uid, gid } = statSync(copy)
    chownSync(label, uid, gid)
    for (const name of ['postmaster.pid', 'postmaster.opts']) rmSync(join(copy, name), { force: true })
  } finally {
    session.release()
    await close()
  }
}

/** A new server on the port of the old one, which must have ended. */
export async function restore({ infrastructure }: World, folder: string): Promise<void> {
  const { server } = infrastructure.postgres
  const restored = await startPostgres({ folder, port: server.port })
  if (restored.port !== server.port) throw new Error(`port ${server.port} is in use`)
  Object.assign(server, { pid: restored.pid, stop: restored.stop })
}

/** Files that vanish meanwhile are no matter: the log has what became of them. */
async function copyChanging(from: string, to: string): Promise<void> {
  try {
    await run('cp', ['-a', from, to])
  } catch (error) {
    const { stderr } = error as { stderr: string }
    const lines = stderr.trim().split('\n')
    if (!lines.every((line) => line.includes('No such file'))) throw error
  }
}
