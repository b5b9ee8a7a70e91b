import { removePostgres } from '@tollgate/devnet'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { follow, processesOf } from './testing/program'

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
  return follow(spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'pipe'] }))
}

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
      expect(processesOf(folder)).toEqual([])
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
    expect(processesOf(folder)).toEqual([])
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
