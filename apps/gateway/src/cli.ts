import { DatabaseSetupError, GatewayPrisma, openGatewayDatabase, waitForDatabase } from '@tollgate/database'
import {
  type CommandIo,
  ConfigurationError,
  parseOptions,
  readEnvironment,
  runCommand,
  runCommandLine,
  UsageError,
} from '@tollgate/service'
import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { isUtf8 } from 'node:buffer'
import { auditLedger, auditText } from './accounts/audit-report'
import { applyCatalog } from './catalog/apply'
import { parseCatalog } from './catalog/catalog-file'
import { CatalogError, MAX_BYTES } from './catalog/yaml-diagnostics'
import { AUDIT_HELP, CATALOG_HELP, HELP, PAYMENTS_HELP } from './cli-help'
import { Environment } from './config'
import { createDisputes, type Decision, type Dispute } from './payments/disputes'

const areaHelps: Readonly<Record<string, string>> = {
  audit: AUDIT_HELP,
  catalog: CATALOG_HELP,
  payments: PAYMENTS_HELP,
}

function helpOf([area]: string[]): string | undefined {
  if (area === undefined) return HELP
  return Object.hasOwn(areaHelps, area) ? areaHelps[area] : undefined
}

/** @returns exit code: 0 done, 1 refused or failed, 2 usage error, 78 not configured */
export const main = (args: string[], io: CommandIo): Promise<number> =>
  runCommand({ name: 'gateway', help: HELP, helpOf, run: dispatch, explain }, args, io)

async function dispatch(args: string[], io: CommandIo): Promise<number> {
  const { values, positionals } = parseOptions(args, {
    'dry-run': { type: 'boolean' },
    'shared-transaction': { type: 'boolean' },
  })
  const [area, verb, file, ...more] = positionals
  if (area === undefined) throw new UsageError('command missing')
  if (area === 'audit') {
    if (verb !== undefined) throw new UsageError(`unexpected "${verb}"`)
    return audit(io)
  }
  if (area === 'payments')
    return payments(
      verb,
      [file, ...more].filter((word) => word !== undefined),
      { isShared: values['shared-transaction'] === true },
      io,
    )
  if (area !== 'catalog') throw new UsageError(`unknown command "${area}"`)
  if (verb !== 'apply')
    throw new UsageError(
      verb === undefined ? 'subcommand of catalog missing' : `unknown command "catalog ${verb}"`,
    )
  if (file === undefined) throw new UsageError('catalog apply requires a file')
  if (more.length > 0) throw new UsageError(`catalog apply takes one file; unexpected "${more.join(' ')}"`)

  const { NODE_ENV: mode } = readEnvironment(Mode, io.environment)
  const isProduction = mode === 'production'
  await apply({ url: databaseUrl(io), file, dryRun: values['dry-run'] === true, isProduction }, io)
  return 0
}

const Mode = Environment.pick({ NODE_ENV: true })

function databaseUrl({ environment }: CommandIo): string {
  const url = environment['DATABASE_URL']
  if (!url) throw new ConfigurationError(['DATABASE_URL is not set; it names the gateway’s Postgres'])
  return url
}

/** It reads whole tables. */
const AUDIT_TIMEOUT_MS = 3_600_000

async function audit(io: CommandIo): Promise<number> {
  const url = databaseUrl(io)
  await waitForDatabase(url, { onRetry: (_attempt, reason) => io.err(`${reason}; trying again\n`) })
  const database = openGatewayDatabase({ url, poolSize: 1, statementTimeoutMs: AUDIT_TIMEOUT_MS })
  try {
    const report = await auditLedger(database)
    io.out(auditText(report))
    return report.violationCount === 0 ? 0 : 1
  } finally {
    await database.close()
  }
}

const PAGE_SIZE = 1_000
const transactionHash = /^(?:0x)?[0-9a-fA-F]{64}$/
const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

async function payments(
  verb: string | undefined,
  ids: string[],
  { isShared }: { isShared: boolean },
  io: CommandIo,
): Promise<number> {
  if (verb !== 'disputed' && verb !== 'spent' && verb !== 'credit' && verb !== 'close')
    throw new UsageError(
      verb === undefined ? 'subcommand of payments missing' : `unknown command "payments ${verb}"`,
    )
  const [id, transaction, ...more] = ids
  const lists = verb === 'disputed' || verb === 'spent'
  if (lists && id !== undefined) throw new UsageError(`unexpected "${id}"`)
  const hasMore = more.length > 0 || (transaction !== undefined && verb === 'close')
  if (!lists && (id === undefined || hasMore || !uuid.test(id)))
    throw new UsageError(`payments ${verb} requires the id of one payment`)
  if (transaction !== undefined && !transactionHash.test(transaction))
    throw new UsageError(`${JSON.stringify(transaction)} is not the hash of a transaction`)
  if (isShared && transaction === undefined)
    throw new UsageError('--shared-transaction requires a transaction')
  const url = databaseUrl(io)
  await waitForDatabase(url, { onRetry: (_attempt, reason) => io.err(`${reason}; trying again\n`) })
  const database = openGatewayDatabase({ url, poolSize: 1 })
  try {
    const disputes = createDisputes(database.pool)
    if (lists) {
      const count = await printAll(verb === 'spent' ? disputes.listSpent : disputes.list, io)
      if (count === 0) io.out(`no payment is ${verb}\n`)
      return 0
    }
    if (transaction !== undefined)
      return await creditSpent(disputes, { id: id ?? '', transaction, isShared }, io)
    const decided = await disputes.resolve(id ?? '', verb)
    if (decided) io.out(`${resolvedAs[verb]}: ${lineOf(decided)}`)
    else io.err(`gateway: no disputed payment has the id ${id}\n`)
    return decided ? 0 : 1
  } finally {
    await database.close()
  }
}

type HashForm = {
  pattern: RegExp
  text: string
  /** As the facilitator reports it. */
  canonical: (hash: string) => string
  isOnePayment: boolean
}
const hashForms: Readonly<Record<string, HashForm>> = {
  evm: {
    pattern: /^0x[0-9a-fA-F]{64}$/,
    text: '0x and 64 hexadecimal digits',
    canonical: (hash) => hash.toLowerCase(),
    isOnePayment: false,
  },
  cosmos: {
    pattern: /^[0-9a-fA-F]{64}$/,
    text: '64 hexadecimal digits without 0x',
    canonical: (hash) => hash.toUpperCase(),
    isOnePayment: true,
  },
}

async function creditSpent(
  disputes: ReturnType<typeof createDisputes>,
  { id, transaction, isShared }: { id: string; transaction: string; isShared: boolean },
  io: CommandIo,
): Promise<number> {
  const refuse = (reason: string) => {
    io.err(`gateway: ${reason}\n`)
    return 1
  }
  const ecosystem = await disputes.findEcosystem(id)
  const form = ecosystem === undefined ? undefined : hashForms[ecosystem]
  if (!form) return refuse(`no spent payment has the id ${id}`)
  if (!form.pattern.test(transaction))
    return refuse(`the hash of a transaction on the payment's network (${ecosystem}) is ${form.text}`)
  if (isShared && form.isOnePayment)
    return refuse(`a transaction on the payment's network (${ecosystem}) is one payment: it cannot be shared`)

  const credited = await disputes.creditSpent(id, form.canonical(transaction), isShared)
  if (credited.outcome === 'refused')
    return refuse(
      `no spent payment has the id ${id}, or another payment of its authorization is credited or open`,
    )
  if (credited.outcome === 'named')
    return refuse(
      form.isOnePayment
        ? `payment ${credited.by} of the same payer has this transaction, which is one payment`
        : `payment ${credited.by} of the same payer has this transaction; if the transaction moved the money of each, by the authorization of each, repeat with --shared-transaction`,
    )
  io.out(`${credited.outcome}: ${lineOf(credited.payment)}`)
  return 0
}

/** @returns the number of payments */
async function printAll(
  list: (limit: number, after?: Dispute) => Promise<Dispute[]>,
  { out }: CommandIo,
): Promise<number> {
  let count = 0
  let page = await list(PAGE_SIZE)
  while (page.length > 0) {
    out(page.map(lineOf).join(''))
    count += page.length
    page = await list(PAGE_SIZE, page.at(-1))
  }
  return count
}

const resolvedAs: Record<Decision, string> = { credit: 'credited', close: 'closed without credits' }

const lineOf = ({ id, wallet, planId, network, amount, credits, transaction, updatedAt }: Dispute) =>
  `${id}  ${updatedAt.toISOString()}  ${wallet}  plan ${planId}  ${amount} on ${network}  ${credits} credits  ${transaction ?? '-'}\n`

async function apply(
  { url, file, dryRun, isProduction }: { url: string; file: string; dryRun: boolean; isProduction: boolean },
  { out, err }: CommandIo,
) {
  const catalog = parseCatalog(await textOf(file), { isProduction })
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

function explain(error: unknown): string | undefined {
  if (error instanceof CatalogError || error instanceof DatabaseSetupError) return error.message
  if (error instanceof GatewayPrisma.PrismaClientKnownRequestError && /^P202[12]$/.test(error.code))
    return 'the database lacks the gateway’s tables; run its migrations first: tollgate-database migrate gateway'
  if (error instanceof Error && /(?:statement|lock) timeout/.test(error.message))
    return 'the database did not answer in time, or another command, such as catalog apply, holds a lock; nothing was changed, try again'
  return undefined
}

/** The process: `bin/gateway.js`. */
export const run = (): Promise<void> => runCommandLine(main)
