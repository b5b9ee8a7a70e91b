/** Rebuilds the services whenever their source changes. TypeScript 7 polls all files instead, which occupies a core or takes half a minute. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, watch } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from './prepare.mjs'

/** Editors write a file in several steps. */
const SETTLE_MS = 100

const sources = ['apps', 'packages']
  .flatMap((folder) => readdirSync(join(root, folder)).map((name) => join(root, folder, name, 'src')))
  .filter(existsSync)

async function build() {
  const args = ['node_modules/typescript/bin/tsc', '--build', 'apps/gateway', 'apps/facilitator']
  const [code] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }), 'exit')
  console.log(code === 0 ? 'Built.' : 'Not built.')
}

let changed
let change = new Promise((resolve) => (changed = resolve))
for (const source of sources) watch(source, { recursive: true }, () => changed())
console.log(`Watching ${sources.length} folders for changes.`)

for (;;) {
  await change
  await sleep(SETTLE_MS)
  change = new Promise((resolve) => (changed = resolve))
  await build()
}
