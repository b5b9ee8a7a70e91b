import { parseArgs } from 'node:util'
import { addressOf, describeAddress } from './address'
import { createDatabase } from './databases'
import { help, type Command } from './cli-help'
import { services, type Service } from './migrations/folder'
import { migrate } from './migrations/migrate'
import { difference, writeMigration } from './migrations/plan'
import { type Progress } from './migrations/progress'
import { resolveMigration } from './migrations/resolve'
import { DatabaseSetupError } from './database-setup-error'

type Io = {
  environment: NodeJS.ProcessEnv
  out: (line: string) => void
  err: (line: string) => void
  signal: AbortSignal
  now: Date
}
type Call = {
  url: string
  service: Service
  migrationsFolder: string | undefined
  options: { name?: string | undefined; 'rolled-back'?: string | undefined; applied?: string | undefined }
} & Io

class UsageError extends Error {}

const commands: Record<Command, (call: Call) => Promise<number>> = {
  async migrate({ url, service, migrationsFolder, out, err, signal }) {
    const onProgress: Progress = (message, facts) => {
      const fields = Object.entries(facts).map(([name, value]) => `${name}: ${value}`)
      err(fields.length > 0 ? `${message} (${fields.join(', ')})` : message)
    }
    const { applied } = await migrate({ url, service, migrationsFolder, onProgress, signal })
    const done = applied.length === 0 ? 'up to date, nothing to do' : `up to date, ${applied.length} applied`
    out(`${describeAddress(addressOf(url))}: ${done}`)
    return 0
  },
  async create({ url, out, signal }) {
    const created = await createDatabase(url, { signal })
    out(`${describeAddress(addressOf(url))}: ${created ? 'created' : 'is there already'}`)
    return 0
  },
  async diff({ options, service, out, ...call }) {
    if (!options.name) throw new UsageError('diff requires --name NAME')
    const file = await writeMigration({ ...call, service, name: options.name })
    out(
      file
        ? `Wrote ${file}. Read it before you commit it`
        : `The migrations of the ${service} agree with its schema`,
    )
    return 0
  },
  async check({ service, out, err, ...call }) {
    const sql = await difference({ ...call, service })
    if (sql === undefined) {
      out(`The migrations of the ${service} agree with its schema`)
      return 0
    }
    out(sql)
    err(
      `The schema of the ${service} is ahead of its migrations by the SQL above. Write it as a migration: tollgate-database diff ${service} --name NAME`,
    )
    return 1
  },
  async resolve({ options, service, out, ...call }) {
    const { 'rolled-back': rolledBack, applied } = options
    const migration = rolledBack ?? applied
    if (!migration || (rolledBack && applied)) {
      throw new UsageError('resolve requires one of --rolled-back MIGRATION and --applied MIGRATION')
    }
    await resolveMigration({ ...call, service, migration, as: applied ? 'applied' : 'rolled-back' })
    out(
      `${migration} is marked as ${applied ? 'applied' : 'rolled back'}. Go on with: tollgate-database migrate ${service}`,
    )
    return 0
  },
}

/** @returns the exit code: 0 done, 1 refused or failed, 2 not understood, 130 stopped. */
export async function main(args: string[], io: Io): Promise<number> {
  try {
    return await dispatch(args, io)
  } catch (error) {
    if (error instanceof UsageError) {
      io.err(`${error.message}. See tollgate-database --help`)
      return 2
    }
    if (error instanceof DatabaseSetupError) {
      io.err(error.message)
      return 1
    }
    if (io.signal.aborted) {
      io.err('Stopped; what was applied stays applied')
      return 130
    }
    io.err(String((error as Error).stack))
    return 1
  }
}

async function dispatch(args: string[], io: Io): Promise<number> {
  const { values, positionals } = parse(args)
  const [command, service, ...more] = positionals
  if (values.help || command === undefined) {
    io.out(help(isCommand(command) ? command : undefined))
    return values.help ? 0 : 2
  }
  if (!isCommand(command)) throw new UsageError(`There is no command "${command}"`)
  if (!isService(service)) throw new UsageError(`${command} requires the service: ${services.join(' or ')}`)
  if (more.length > 0) throw new UsageError(`Did not understand "${more.join(' ')}"`)
  const url = io.environment['DATABASE_URL']
  if (!url) throw new UsageError(`DATABASE_URL is not set: the URL of the ${service}'s database`)
  const migrationsFolder = values.migrations ?? io.environment['MIGRATIONS_DIR']
  return commands[command]({ ...io, url, service, migrationsFolder, options: values })
}

function parse(args: string[]) {
  try {
    return parseArgs({
      args,
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        migrations: { type: 'string' },
        name: { type: 'string' },
        'rolled-back': { type: 'string' },
        applied: { type: 'string' },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

const isCommand = (word: string | undefined): word is Command =>
  word !== undefined && Object.hasOwn(commands, word)
const isService = (word: string | undefined): word is Service => services.some((service) => service === word)

export async function run(): Promise<void> {
  const stop = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort())
  process.exitCode = await main(process.argv.slice(2), {
    environment: process.env,
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    signal: stop.signal,
    now: new Date(),
  })
}
