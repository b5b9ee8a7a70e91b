import { execFileSync } from 'node:child_process'
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort, startProcess, type Owner } from '@tollgate/processes'

export type PoolMode = 'session' | 'transaction' | 'statement'

export const hasPgBouncer = (() => {
  try {
    execFileSync('pgbouncer', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

/** Starts PgBouncer before the server of `url`, with its default settings besides those given. */
export async function startPgBouncer(url: string, settings: Record<string, string>) {
  const { hostname, port: serverPort, username, password } = new URL(url)
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'pgbouncer-'))
  const server = `host=${hostname} port=${serverPort} user=${username} password=${password}`
  const lines = Object.entries({
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_type: 'any',
    ...settings,
  })
  const file = join(folder, 'pgbouncer.ini')
  writeFileSync(
    file,
    `[databases]\n* = ${server}\n[pgbouncer]\n${lines.map(([name, value]) => `${name} = ${value}`).join('\n')}\n`,
    { mode: 0o600 },
  )
  const owner = unprivileged()
  if (owner) for (const path of [folder, file]) chownSync(path, owner.uid, owner.gid)
  const { stop, pid } = await startProcess({
    name: 'PgBouncer',
    command: 'pgbouncer',
    args: [file],
    logFile: join(folder, 'pgbouncer.log'),
    owner,
    cwd: folder,
    ready: /process up/,
    timeoutSeconds: 10,
    stopSignal: 'SIGTERM',
  })
  return {
    url: Object.assign(new URL(url), { port: String(port) }).href,
    pid,
    file,
    async stop() {
      await stop()
      rmSync(folder, { recursive: true })
    },
  }
}

/** PgBouncer refuses to run as root. */
function unprivileged(): Owner | undefined {
  if (process.getuid?.() !== 0) return undefined
  const ask = (what: string) => Number(execFileSync('id', [what, 'daemon'], { encoding: 'utf8' }))
  return { uid: ask('-u'), gid: ask('-g') }
}
