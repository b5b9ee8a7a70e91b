import { DatabaseSetupError, GatewayPrisma, openGatewayDatabase, waitForDatabase } from '@tollgate/database'
import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { isUtf8 } from 'node:buffer'
import { parseArgs } from 'node:util'
import { applyCatalog } from './catalog/apply'
import { parseCatalog } from './catalog/catalog-file'
import { CatalogError, MAX_BYTES } from './catalog/yaml-diagnostics'
import { CATALOG_HELP, HELP, PAYMENTS_HELP } from './cli-help'
import { createDisputes, type Decision, type Dispute } from './payments/disputes'

type Io = { environment: NodeJS.ProcessEnv; out: (text: string) => unknown; err: (text: string) => unknown }

class UsageError extends Error {}

/** EX_CONFIG of sysexits.h. */
const EXIT_CONFIGURATION = 78

/** @returns exit code: 0 done, 1 refused or failed, 2 usage error, 78 not configured */
export async function main(args: string[], io: Io): Promise<number> {
  try {
    return await dispatch(args, io)
  } catch (error) {
    io.err(`gateway: ${reasonOf(error)}\n`)
    if (!(error instanceof UsageError)) return 1
    io.err(`\n${helpOf(args[0]) ?? HELP}`)
    return 2
  }
}

async function dispatch(args: string[], io: Io): Promise<number> {
  const { values, positionals } = parse(args)
  const [area, verb, file, ...more] = positionals
  const help = area === undefined ? HELP : helpOf(area)
  if (values.help && help !== undefined) {
    io.out(help)
    return 0
  }
  if (area === undefined) throw new UsageError('command missing')
  if (area === 'payments')
    return payments(
      verb,
      [file, ...more].filter((word) => word !== undefined),
      io,
    )
  if (area !== 'catalog') throw new UsageError(`unknown command "${area}"`)
  if (verb !== 'apply')
    throw new UsageError(
      verb === undefined ? 'subcommand of catalog missing' : `unknown command "catalog ${verb}"`,
    )
  if (file === undefined) throw new UsageError('catalog apply requires a file')
  if (more.length > 0) throw new UsageError(`catalog apply takes one file; unexpected "${more.join(' ')}"`)

  const url = databaseUrl(io)
  if (!url) return EXIT_CONFIGURATION
  await apply({ url, file, dryRun: values['dry-run'] === true }, io)
  return 0
}

const helpOf = (area: string | undefined) =>
  area === 'catalog' ? CATALOG_HELP : area === 'payments' ? PAYMENTS_HELP : undefined

function databaseUrl({ environment, err }: Io): string | undefined {
  const url = environment['DATABASE_URL']
  if (!url) err('gateway: DATABASE_URL is not set; it names the gateway’s Postgres\n')
  return url
}

const MAX_DISPUTES = 1_000
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

async function payments(verb: string | undefined, ids: string[], io: Io): Promise<number> {
  if (verb !== 'disputed' && verb !== 'credit' && verb !== 'close')
    throw new UsageError(
      verb === undefined ? 'subcommand of payments missing' : `unknown command "payments ${verb}"`,
    )
  const [id, ...more] = ids
  if (verb === 'disputed' && id !== undefined) throw new UsageError(`unexpected "${id}"`)
  if (verb !== 'disputed' && (id === undefined || more.length > 0 || !uuid.test(id)))
    throw new UsageError(`payments ${verb} requires the id of one payment`)
  const url = databaseUrl(io)
  if (!url) return EXIT_CONFIGURATION
  await waitForDatabase(url, { onRetry: (_attempt, reason) => io.err(`${reason}; trying again\n`) })
  const database = openGatewayDatabase({ url, poolSize: 1 })
  try {
    const disputes = createDisputes(database.pool)
    if (verb === 'disputed') {
      const found = await disputes.list(MAX_DISPUTES)
      io.out(found.length > 0 ? found.map(lineOf).join('') : 'no payment is disputed\n')
      return 0
    }
    const decided = await disputes.resolve(id ?? '', verb)
    if (decided) io.out(`${resolvedAs[verb]}: ${lineOf(decided)}`)
    else io.err(`gateway: no disputed payment has the id ${id}\n`)
    return decided ? 0 : 1
  } finally {
    await database.close()
  }
}

const resolvedAs: Record<Decision, string> = { credit: 'credited', close: 'closed without credits' }

const lineOf = ({ id, wallet, planId, network, amount, credits, transaction, updatedAt }: Dispute) =>
  `${id}  ${updatedAt.toISOString()}  ${wallet}  plan ${planId}  ${amount} on ${network}  ${credits} credits  ${transaction ?? '-'}\n`

async function apply(
  { url, file, dryRun }: { url: string; file: string; dryRun: boolean },
  { out, err }: Io,
) {
  const catalog = parseCatalog(await textOf(file))
  await waitForDatabase(url, { onRetry: (_attempt, reason) => err(`${reason}; trying again\n`) })
  const database = openGatewayDatabase({ url, poolSize: 1 })
  try {
    const lines = await applyCatalog(database, catalog, { dryRun })
    const all = lines.length > 0 ? lines : ['nothing changed']
    out(`${[...(dryRun ? ['dry run: nothing is written'] : []), ...all].join('\n')}\n`)
  } finally {
    await database.close()
  }
  if (!catalog.plans.some(({ active }) => active)) err('warning: no plan is sold after this\n')
  if (!catalog.providers.some(({ active }) => active)) err('warning: no provider serves after this\n')
}

async function textOf(file: string): Promise<string> {
  try {
    const bytes = await buffer(createReadStream(file, { end: MAX_BYTES }))
    if (isUtf8(bytes)) return bytes.toString()
  } catch (error) {
    throw new CatalogError(
      `${JSON.stringify(file)} cannot be read: ${reasonFor(error as NodeJS.ErrnoException)}`,
    )
  }
  throw new CatalogError(`${JSON.stringify(file)} is not text in UTF-8`)
}

function reasonFor({ code, message }: NodeJS.ErrnoException) {
  if (code === 'ENOENT') return 'no such file'
  if (code === 'EISDIR') return 'is a directory'
  if (code === 'EACCES') return 'permission denied'
  return message
}

function parse(args: string[]) {
  try {
    const help = { type: 'boolean', short: 'h' } as const
    return parseArgs({ args, allowPositionals: true, options: { help, 'dry-run': { type: 'boolean' } } })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof CatalogError || error instanceof DatabaseSetupError)
    return error.message
  if (error instanceof GatewayPrisma.PrismaClientKnownRequestError && /^P202[12]$/.test(error.code))
    return 'the database lacks the gateway’s tables; run its migrations first: tollgate-database migrate gateway'
  const message = error instanceof Error ? error.message : String(error)
  if (/(?:statement|lock) timeout/.test(message))
    return 'another catalog is being applied; nothing was changed, try again'
  return `failed, and nothing was changed: ${message.trim().split('\n').at(-1) ?? ''}`
}

export async function run(): Promise<void> {
  process.exitCode = await main(process.argv.slice(2), {
    environment: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  })
}
