import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { prepare, root } from './prepare.mjs'

const HELP = `Usage: npm start [-- OPTIONS]

Brings up everything on this machine (Postgres, Redis if there is one, an EVM chain, facilitator, gateway), tells the
story of one paid call as it happens, and stays up until Ctrl-C. Addresses and test keys: .tollgate/devnet.json

  --once    stop after the story; exits with 0 if every step of it held
  --fresh   forget the state of earlier starts first
  --watch   rebuild and restart the services when their source changes
  --help    this text
`

async function main() {
  const options = { once: {}, fresh: {}, watch: {}, help: {} }
  for (const option of Object.values(options)) option.type = 'boolean'
  const { values } = parseArgs({ options })
  if (values.help) return process.stdout.write(HELP)
  await prepare({ projects: ['packages/devnet', 'apps/gateway', 'apps/facilitator'], forTests: false })
  const { start } = await import('../packages/devnet/dist/start.js')
  await start({ ...values, folder: join(root, '.tollgate') })
}

main().catch((error) => {
  console.error(`npm start: ${error.message}`)
  process.exit(error.code?.startsWith('ERR_PARSE_ARGS') ? 2 : 1)
})
