import { mkdirSync } from 'node:fs'
import { delimiter, join, resolve } from 'node:path'
import { onFreePort, type ProcessExit, startProcess } from '@tollgate/processes'
import { isRunnable } from './binaries'

export type RedisOptions = {
  folder: string
  /** Preferred; if it is in use, a free one. */
  port?: number
  onExit?: (exit: ProcessExit) => void
}

/** Starts `redis-server` on 127.0.0.1 without persistence; undefined if it is not on the PATH. */
export async function startRedis({ folder, port: preferred, onExit }: RedisOptions) {
  const command = onPath('redis-server')
  if (!command) return undefined
  mkdirSync(folder, { recursive: true })
  return onFreePort(preferred, async (port) => {
    const server = await startProcess({
      name: 'Redis',
      command,
      args: [
        '--port',
        String(port),
        '--bind',
        '127.0.0.1',
        '--save',
        '',
        '--appendonly',
        'no',
        '--dir',
        folder,
      ],
      logFile: join(folder, 'redis.log'),
      ready: /ready to accept connections/i,
      timeoutSeconds: 10,
      onExit,
    })
    return { url: `redis://127.0.0.1:${port}`, port, pid: server.pid, stop: server.stop }
  })
}

function onPath(name: string) {
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  return folders.map((folder) => resolve(folder, name)).find(isRunnable)
}
