import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { prepare, root } from './prepare.mjs'

const HELP = `Usage: npm start [-- OPTIONS]

Starts everything on this machine (Postgres, Redis if available, two chains, facilitator, gateway), runs a demo of one
paid call per kind of wallet, and runs until Ctrl-C. Addresses and test keys: .tollgate/devnet.json

  --once    exit after the demo, with 0 if every step succeeded
  --fresh   delete the state of earlier starts first
  --watch   rebuild and restart the services when their source changes
  --help    this text
`

async function main() {
  const options = { once: {}, fresh: {}, watch: {}, help: {} }
  for (const option of Object.values(options)) option.type = 'boolean'
  const { values } = parseArgs({ options })
  if (values.help) return process.stdout.write(HELP)
  const folder = join(root, '.tollgate')
  await assertNotUp(folder)
  await prepare({ projects: ['packages/devnet', 'apps/gateway', 'apps/facilitator'], forTests: false })
  const { start } = await import('../packages/devnet/dist/start.js')
  await start({ ...values, folder })
}

/** Asks the build of an earlier start, so that the answer does not wait for a new one. */
async function assertNotUp(folder) {
  const built = join(root, 'packages/devnet/dist/state.js')
  if (!existsSync(built)) return
  const { openState } = await import(pathToFileURL(built))
  openState(folder).assertUnlocked?.()
}

main().catch((error) => {
  console.error(`npm start: ${error.message}`)
  process.exit(error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1)
})
