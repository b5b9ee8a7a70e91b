import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ProcessExit, startProcess } from './process'
import { isAlive, untilDead } from './liveness'

const folder = join(tmpdir(), `tollgate-process-${randomUUID()}`)
beforeAll(() => mkdirSync(folder))
const logFile = join(folder, 'process.log')
afterAll(() => rmSync(folder, { recursive: true }))

const node = (script: string, options: Partial<Parameters<typeof startProcess>[0]> = {}) =>
  startProcess({ name: 'it', command: process.execPath, args: ['-e', script], logFile, ...options })

const STAYS = 'setInterval(() => {}, 1000); console.log("up")'
const DEAF = `process.on('SIGTERM', () => {}); ${STAYS}`

describe('startProcess', () => {
  test('resolves when the output matches, and keeps the output', async () => {
    const it = await node(`setTimeout(() => console.log('now up'), 200); ${STAYS}`, { ready: /now up/ })

    expect(readFileSync(logFile, 'utf8')).toContain('now up')
    await it.stop()
  })

  test('fails with the last lines of one that ends too early', async () => {
    const starting = node('console.error("the port is busy"); process.exit(3)', { ready: /up/ })

    await expect(starting).rejects.toThrow(/it ended with code 3[^]*the port is busy/)
  })

  test('fails for a program that is not there', async () => {
    const starting = startProcess({
      name: 'it',
      command: join(folder, 'none'),
      args: [],
      logFile,
      ready: /up/,
    })

    await expect(starting).rejects.toThrow(/it ended with code 127/)
  })

  test('fails, and leaves nothing running, when the time is up', async () => {
    const starting = node(`console.log('pid', process.pid); ${STAYS}`, { ready: /never/, timeoutSeconds: 1 })

    await expect(starting).rejects.toThrow(/was not ready after 1 s/)
    expect(isAlive(Number(/pid (\d+)/.exec(readFileSync(logFile, 'utf8'))?.[1]))).toBe(false)
  })

  test('kills a process that ignores the stop signal, after its time; stop is idempotent', async () => {
    const it = await node(DEAF, { ready: /up/, stopSeconds: 0.2 })

    await Promise.all([it.stop(), it.stop()])
    await it.stop()

    expect((await it.exited).signal).toBe('SIGKILL')
    expect(isAlive(it.pid)).toBe(false)
  })

  test('reports an unexpected exit, and not one after stop', async () => {
    const exits: ProcessExit[] = []
    const onExit = (exit: ProcessExit) => void exits.push(exit)
    const [crashed, stopped] = [
      await node(STAYS, { ready: /up/, onExit }),
      await node(STAYS, { ready: /up/, onExit }),
    ]

    await stopped.stop()
    process.kill(crashed.pid, 'SIGKILL')
    await crashed.exited

    await Promise.resolve()
    expect(exits).toMatchObject([{ name: 'it', signal: 'SIGKILL' }])
  })

  test('kills the descendants of the process', async () => {
    const it = await node(
      `const child = require('child_process').spawn(process.execPath, ['-e', ${JSON.stringify(DEAF)}], { stdio: 'inherit' })
       console.log('child', child.pid); setInterval(() => {}, 1000)`,
      { ready: /child[^]*up/ },
    )
    const child = Number(/child (\d+)/.exec(it.output())?.[1])

    await it.stop()

    await untilDead(child)
  })

  test('stops the process if ours is killed', async () => {
    // Another Node plays our part; it runs the same file, compiled.
    const us = spawn(process.execPath, ['-e', parent(STAYS, logFile)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output] = (await once(us.stdout, 'data')) as [Buffer]
    const child = Number(output.toString())
    expect(isAlive(child)).toBe(true)

    us.kill('SIGKILL')

    await untilDead(child)
  })

  test('kills a process that ignores the stop signal if ours is killed', async () => {
    const us = spawn(process.execPath, ['-e', parent(DEAF, logFile)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [output] = (await once(us.stdout, 'data')) as [Buffer]

    us.kill('SIGKILL')

    await untilDead(Number(output.toString()))
  }, 15_000)
})

function parent(script: string, log: string) {
  const compiled = join(__dirname, '../dist/process.js')
  if (!existsSync(compiled)) throw new Error('Build the package first: this test runs the compiled file')
  const options = { name: 'it', command: process.execPath, args: ['-e', script], logFile: log }
  return `require(${JSON.stringify(compiled)})
    .startProcess({ ...${JSON.stringify(options)}, ready: /up/ }).then((it) => process.stdout.write(String(it.pid)))`
}
