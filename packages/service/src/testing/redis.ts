import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '@tollgate/processes'

export const hasRedisServer = (() => {
  try {
    execFileSync('redis-server', ['--version'], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})()

const cleanups: (() => Promise<void>)[] = []

export async function stopRedisServers() {
  await Promise.all(cleanups.splice(0).map((cleanup) => cleanup()))
}

export async function startRedisServer() {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'redis-'))
  let server: ChildProcess | undefined

  async function start() {
    const settings = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--dir', folder]
    server = spawn('redis-server', settings, { stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const chunk of server.stdout!) if (String(chunk).includes('Ready to accept')) break
  }
  async function stop() {
    if (!server) return
    const ended = once(server, 'exit')
    server.kill('SIGKILL')
    await ended
    server = undefined
  }
  await start()
  cleanups.push(async () => {
    await stop()
    rmSync(folder, { recursive: true, force: true })
  })
  return {
    url: `redis://127.0.0.1:${port}`,
    start,
    stop,
    freeze: () => server?.kill('SIGSTOP'),
    thaw: () => server?.kill('SIGCONT'),
  }
}
