import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { root } from './testing/world'

const TIMEOUT_MS = 50_000

const run = async (...args: string[]) =>
  (await promisify(execFile)(process.execPath, args, { cwd: root, timeout: TIMEOUT_MS })).stdout

test('pnpm bench says how it is used, and lists its benchmarks', async () => {
  expect(await run('bench/dist/main.js', '--help')).toContain('Usage: pnpm bench')
  expect(await run('bench/dist/main.js', '--list')).toMatch(/^([a-z-]+ +\S.*\n)+$/)
})

test.each([[['no-such-benchmark']], [['--rounds', '0']], [['--twice']]])(
  'pnpm bench refuses %j with its usage',
  async (args) => {
    await expect(run('bench/dist/main.js', ...args)).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('Usage: pnpm bench') as string,
    })
  },
)
