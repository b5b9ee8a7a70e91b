import { execFile } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { root } from './testing/world'

const TIMEOUT_MS = 50_000

const run = async (...args: string[]) =>
  (await promisify(execFile)(process.execPath, args, { cwd: root, timeout: TIMEOUT_MS })).stdout

const scripts = readdirSync(join(root, 'bench'), { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.mjs'))
  .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
const [commands, modules] = [/^bench\/[^/]+$/, /^bench\/.+\//].map((pattern) =>
  scripts.filter((script) => pattern.test(script)),
)

test('pnpm bench says how it is used, and lists its benchmarks', async () => {
  expect(await run('bench/dist/main.js', '--help')).toContain('Usage: pnpm bench')
  expect(await run('bench/dist/main.js', '--list')).toMatch(/^([a-z-]+ +\S.*\n)*$/)
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

test.each(commands!)('%s says how it is used', async (script) => {
  expect(await run(script, '--help')).toContain(`Usage: node ${script}`)
})

test.each(modules!)('%s finds all that it imports', async (script) => {
  const load = `await import(${JSON.stringify(pathToFileURL(join(root, script)).href)})`
  await run('--input-type=module', '--eval', `${load}; process.exit()`)
})
