import { openGatewayDatabase, waitForDatabase } from '@tollgate/database'
import { readFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { applyCatalog, readCatalog } from './catalog/apply'

const HELP = `Usage: gateway catalog apply FILE

Makes the plans and providers of the gateway's database those of FILE (YAML).
Doing so twice changes nothing; what the file leaves out is retired, never deleted.

  DATABASE_URL   the gateway's Postgres, from the environment
  --help         this text
`

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' } },
  })
  const [area, verb, file] = positionals
  if (values.help) return say(HELP)
  if (area !== 'catalog' || verb !== 'apply' || file === undefined || positionals.length > 3)
    return complain(HELP, 2)
  const url = process.env.DATABASE_URL
  if (!url) return complain('DATABASE_URL: not set; it names the gateway’s Postgres\n', 78)

  const catalog = readCatalog(await readFile(file, 'utf8'))
  await waitForDatabase(url, { onRetry: (_attempt, reason) => void complain(`${reason}; trying again\n`, 0) })
  const database = openGatewayDatabase({ url, poolSize: 1 })
  try {
    await applyCatalog(database, catalog)
  } finally {
    await database.close()
  }
  return say(`${catalog.plans.length} plans and ${catalog.providers.length} providers are in place\n`)
}

const say = (text: string) => (process.stdout.write(text), 0)
const complain = (text: string, code: number) => (process.stderr.write(text), code)

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) =>
    (process.exitCode = complain(`gateway: ${error instanceof Error ? error.message : String(error)}\n`, 1)),
)
