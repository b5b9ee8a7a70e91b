import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openGatewayDatabase } from '@tollgate/database'
import { startPostgres } from '@tollgate/devnet'
import { until } from '@tollgate/e2e/testing/paying'
import { type World } from '@tollgate/e2e/testing/world'
import { backUp } from './base-backup'

const READY_SECONDS = 30

/** Runs one statement as the superuser, also while sessions are read-only by default. */
async function asSuperuser(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const writable = new URL(url)
  writable.searchParams.set('options', '-c default_transaction_read_only=off')
  const { pool, close } = openGatewayDatabase({ url: writable.href, poolSize: 1 })
  try {
    return (await pool.query<Record<string, unknown>>(sql)).rows
  } finally {
    await close()
  }
}

export async function setReadOnly(url: string, isReadOnly: boolean): Promise<void> {
  const change = isReadOnly ? 'SET default_transaction_read_only = on' : 'RESET default_transaction_read_only'
  await asSuperuser(url, `ALTER SYSTEM ${change}`)
  await asSuperuser(url, 'SELECT pg_reload_conf()')
}

/** Starts a synchronous standby of the world's server in `folder`. */
export async function startStandby(world: World, folder: string) {
  const { gateway: url } = world.infrastructure.postgres
  const { hostname, port, username, password } = new URL(url)
  await backUp(world, folder)
  const data = join(folder, 'data')
  writeFileSync(join(data, 'standby.signal'), '', { mode: 0o644 })
  appendFileSync(
    join(data, 'postgresql.auto.conf'),
    `\nprimary_conninfo = 'host=${hostname} port=${port} user=${username} password=${password}'\n`,
  )
  const standby = await startPostgres({ folder })
  await until(
    () => asSuperuser(url, "SELECT FROM pg_stat_replication WHERE state = 'streaming'"),
    (rows) => rows.length > 0,
    READY_SECONDS,
  )
  await asSuperuser(url, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await asSuperuser(url, 'SELECT pg_reload_conf()')
  return standby
}

/** Promotes a standby as `pg_ctl promote` does, and waits until it takes writes. */
export async function promote({ pid, url }: Awaited<ReturnType<typeof startPostgres>>) {
  // The server works in the folder of its data, which for root is outside of the one that was given.
  writeFileSync(`/proc/${pid}/cwd/promote`, '')
  process.kill(pid, 'SIGUSR1')
  const isWritable = () =>
    asSuperuser(url('gateway'), 'SELECT 1').then(
      () => true,
      () => false,
    )
  await until(isWritable, (is) => is, READY_SECONDS)
}
