import { removePostgres } from '@tollgate/devnet'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const START = require.resolve('@tollgate/devnet/dist/start.js')

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-start-'))
})
afterEach(() => {
  removePostgres(join(folder, 'postgres'))
  rmSync(folder, { recursive: true, force: true })
})

/** `npm start` without its installing and building: a process of its own, with its state in `folder`. */
function start(options: { once?: boolean }) {
  const code = `require(${JSON.stringify(START)}).start(${JSON.stringify({ ...options, folder })})`
  const child = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()))
  const exited = once(child, 'exit').then(([status]) => status as number | null)
  const said = async (text: string) => {
    while (!output.includes(text)) await Promise.race([once(child.stdout, 'data'), exited])
  }
  return { child, exited, said, output: () => output }
}

/** What still runs with our folder in its command line: Postgres, Redis and the chain have their state there. */
const left = () =>
  execFileSync('ps', ['-eo', 'args'])
    .toString()
    .split('\n')
    .filter((line) => line.includes(folder))

const isAlive = (pid: number) => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('npm start', () => {
  test('with --once tells the story and leaves nothing running, twice in a row', async () => {
    for (const time of ['first', 'second']) {
      const run = start({ once: true })
      expect([time, await run.exited, run.output()]).toEqual([
        time,
        0,
        expect.stringMatching(/settlement +0x[0-9a-f]{64} in block/),
      ])
      expect(run.output()).toContain('99 left of 100')
      expect(left()).toEqual([])
    }
  }, 120_000)

  test('stops everything it started within five seconds of Ctrl-C', async () => {
    const run = start({})
    await run.said('Everything is up')
    const { processes } = JSON.parse(readFileSync(join(folder, 'devnet.json'), 'utf8')) as {
      processes: Record<string, number>
    }
    const asked = performance.now()
    run.child.kill('SIGINT')
    expect(await run.exited).toBe(0)
    expect(performance.now() - asked).toBeLessThan(5_000)
    expect(left()).toEqual([])
    expect(Object.values(processes).filter(isAlive)).toEqual([])
  }, 120_000)

  test('refuses a folder that another start holds, and names it', async () => {
    const first = start({})
    await first.said('Everything is up')
    const second = start({})
    expect(await second.exited).not.toBe(0)
    expect(second.output()).toContain('already up')
    expect(existsSync(join(folder, 'devnet.json'))).toBe(true)
    first.child.kill('SIGINT')
    expect(await first.exited).toBe(0)
  }, 120_000)
})
