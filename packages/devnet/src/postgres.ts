import { execFile } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { onFreePort, type ProcessExit, startProcess } from '@tollgate/processes'
import { Client, escapeIdentifier } from 'pg'
import { postgresHome, type PostgresHome, releaseStaleLock } from './postgres-home'

export type PostgresOptions = {
  /** The folder of the data. */
  folder: string
  /** Preferred; if it is in use, a free one. */
  port?: number
  /** False if a power failure may lose data, as in tests. */
  durable?: boolean
  logFile?: string
  onExit?: (exit: ProcessExit) => void
}

const USER = 'postgres'
const SETTINGS = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  // Three test files at a time, each with services of its own.
  max_connections: '500',
  shared_buffers: '128MB',
  max_logical_replication_workers: '0',
  jit: 'off',
  timezone: 'UTC',
  log_timezone: 'UTC',
}
const FORGETFUL = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '128MB' }
const PLAIN_ENVIRONMENT = { PATH: '/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' }

/**
 * Starts the Postgres that npm installed, on 127.0.0.1, with its data in `folder`. It recovers the data of a killed server, and
 * throws if another server runs on the folder.
 */
export async function startPostgres(options: PostgresOptions) {
  const folder = resolve(options.folder)
  const home = postgresHome(folder)
  const durable = options.durable ?? true
  await createCluster(home, durable)
  const settings = Object.entries({ ...SETTINGS, ...(durable ? {} : FORGETFUL) })

  const start = (port: number) =>
    startProcess({
      name: 'Postgres',
      command: join(home.binaries, 'postgres'),
      args: [
        '-D',
        home.data,
        '-p',
        String(port),
        ...settings.flatMap(([key, value]) => ['-c', `${key}=${value}`]),
      ],
      cwd: home.place,
      env: PLAIN_ENVIRONMENT,
      owner: home.owner,
      logFile: options.logFile ?? join(folder, 'postgres.log'),
      ready: /database system is ready to accept (read-only )?connections/,
      // A fast shutdown: ends sessions and writes a checkpoint.
      stopSignal: 'SIGINT',
      onExit: options.onExit,
    }).then((server) => ({ server, port }))
  const { server, port } = await whenReleased(home.data, () => onFreePort(options.port, start))

  const url = (database: string) => `postgresql://${USER}:${home.password}@127.0.0.1:${port}/${database}`

  /** Creates the database, as a copy of `template`, unless it exists; returns its URL. */
  async function createDatabase(name: string, { template }: { template?: string } = {}): Promise<string> {
    const client = new Client({ connectionString: url('postgres'), connectionTimeoutMillis: 5000 })
    await client.connect()
    try {
      const from = template === undefined ? '' : ` TEMPLATE ${escapeIdentifier(template)}`
      await client.query(`CREATE DATABASE ${escapeIdentifier(name)}${from}`)
    } catch (problem) {
      if (!isDuplicate(problem)) throw problem
    } finally {
      await client.end()
    }
    return url(name)
  }

  return { port, pid: server.pid, url, createDatabase, stop: server.stop }
}

/** Creates the data in a temporary folder and renames it when complete, so that an interrupted start leaves no partial data. */
async function createCluster(home: PostgresHome, durable: boolean) {
  const { data, owner } = home
  const incomplete = `${data}.new`
  rmSync(incomplete, { recursive: true, force: true })
  if (existsSync(data)) return
  mkdirSync(incomplete, { mode: 0o700 })
  if (owner) chownSync(incomplete, owner.uid, owner.gid)
  const locale = ['--encoding=UTF8', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  const access = [`--username=${USER}`, `--pwfile=${home.passwordFile}`, '--auth=scram-sha-256']
  // Tests open thousands of connections, and each of the 4,096 iterations costs both sides.
  if (!durable) access.push('--set=scram_iterations=1')
  await promisify(execFile)(
    join(home.binaries, 'initdb'),
    // The cluster is empty, and waiting for the disk would take most of the first start.
    [`--pgdata=${incomplete}`, ...access, ...locale, '--no-sync'],
    { ...owner, cwd: home.place, env: PLAIN_ENVIRONMENT, timeout: 60_000 },
  )
  renameSync(incomplete, data)
}

/** Waits for a server that is stopping, or whose children are still ending after a `kill -9`. */
async function whenReleased<T>(data: string, start: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      releaseStaleLock(data)
      return await start()
    } catch (problem) {
      if (!/postmaster\.pid|shared memory block/.test(String(problem))) throw problem
      if (attempt === 15)
        throw new Error(`Another Postgres runs on ${data}: stop the other start of this checkout first`, {
          cause: problem,
        })
      await delay(200)
    }
  }
}

function isDuplicate(problem: unknown) {
  return problem instanceof Error && 'code' in problem && problem.code === '42P04'
}
