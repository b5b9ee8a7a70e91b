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

let changed
const watched = new Set()

/** One watcher for each folder: a recursive one of Node 20 misses writes to a file that was replaced before. */
function watchFolders() {
  for (const source of sources)
    for (const entry of readdirSync(source, { recursive: true, withFileTypes: true }))
      watchFolder(entry.parentPath ?? entry.path)
}

function watchFolder(folder) {
  if (watched.has(folder)) return
  watched.add(folder)
  watch(folder, () => changed()).on('error', () => watched.delete(folder))
}

async function build() {
  const args = ['node_modules/typescript/bin/tsc', '--build', 'apps/gateway', 'apps/facilitator']
  const [code] = await once(spawn(process.execPath, args, { cwd: root, stdio: 'inherit' }), 'exit')
  console.log(code === 0 ? 'Built.' : 'Not built.')
}

for (;;) {
  const change = new Promise((resolve) => (changed = resolve))
  watchFolders()
  await build()
  console.log(`Watching ${watched.size} folders for changes.`)
  await change
  await sleep(SETTLE_MS)
}
