/** Generates the Prisma client of each service into src/generated if the schema or Prisma has changed. */
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

const require = createRequire(import.meta.url)
const home = resolve(import.meta.dirname, '..')
const prisma = require('prisma/package.json')
const cli = join(require.resolve('prisma/package.json'), '..', prisma.bin.prisma)

const environment = {
  ...process.env,
  // Generating needs no schema engine, but Prisma downloads one unless this names an existing file.
  PRISMA_SCHEMA_ENGINE_BINARY: process.env.PRISMA_SCHEMA_ENGINE_BINARY ?? process.execPath,
  CHECKPOINT_DISABLE: '1',
  PRISMA_HIDE_UPDATE_MESSAGE: '1',
}

async function generate(service) {
  const folder = join(home, '../../prisma', service)
  const schema = await readFile(join(folder, 'schema.prisma'))
  const hash = createHash('sha256').update(schema).update(prisma.version).digest('hex')
  const target = join(home, 'src/generated', service)
  const stamp = join(target, 'generated-from.sha256')
  if ((await readFile(stamp, 'utf8').catch(() => '')) === hash) return

  await rm(target, { recursive: true, force: true })
  const run = spawn(process.execPath, [cli, 'generate', '--config', join(folder, 'prisma.config.mjs')], {
    cwd: home,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [run.stdout, run.stderr]) stream.on('data', (text) => (output += text))
  const [code] = await once(run, 'close')
  if (code !== 0) throw new Error(`prisma generate failed for ${service}:\n${output}`)
  await writeFile(stamp, hash)
  console.log(`Generated the Prisma client of the ${service}`)
}

const results = await Promise.allSettled(['gateway', 'facilitator'].map(generate))
for (const { reason } of results.filter(({ status }) => status === 'rejected')) {
  console.error(reason.message)
  process.exitCode = 1
}
