import { DatabaseError, DatabaseProblem, openFacilitatorDatabase, waitForDatabase } from '@tollgate/database'
import { clientCommands, invitationCommands, userCommands } from './account-commands'
import { createAccountStore } from './accounts'
import { assetCommands } from './asset-commands'
import { UsageError, type Command, type Io, type Work } from './arguments'
import { HELP } from './cli-help'
import { settlementCommands } from './settlement-commands'
import { createOperatorStore } from './settlements'

/** As sysexits.h has it: the configuration must be changed first. */
const EXIT_CONFIGURATION = 78

const areas: Readonly<Record<string, Readonly<Record<string, Command>>>> = {
  settlements: settlementCommands,
  users: userCommands,
  clients: clientCommands,
  invitations: invitationCommands,
  assets: assetCommands,
}

/** @returns the exit code: 0 done, 1 refused or failed, 2 not understood, 78 not configured */
export async function main(args: string[], io: Io): Promise<number> {
  const command = commandOf(args)
  const help = command?.help ?? HELP
  try {
    if (args.some((word) => word === '--help' || word === '-h')) return say(help, io)
    const work = understand(args, command)
    const url = io.environment['DATABASE_URL']
    if (url) return await withDatabase(url, io, work)
    io.err('facilitator: DATABASE_URL is not set; it names the facilitator’s Postgres\n')
    return EXIT_CONFIGURATION
  } catch (error) {
    io.err(`facilitator: ${reasonOf(error)}\n`)
    if (!(error instanceof UsageError)) return 1
    io.err(`\n${help}`)
    return 2
  }
}

const find = <T>(of: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(of, word) ? of[word] : undefined

const commandOf = ([area = '', verb = '']: string[]): Command | undefined =>
  find(find(areas, area) ?? {}, verb)

function say(text: string, { out }: Io): number {
  out(text)
  return 0
}

function understand([area, word, ...args]: string[], command: Command | undefined): Work {
  if (area === undefined) throw new UsageError('what is to be done was not said')
  if (!find(areas, area)) throw new UsageError(`there is no command "${area}"`)
  if (command) return command.understand(args)
  throw new UsageError(word === undefined ? `${area} what?` : `there is no "${area} ${word}"`)
}

async function withDatabase(url: string, io: Io, work: Work): Promise<number> {
  await waitForDatabase(url, { onRetry: (_attempt, reason) => io.err(`${reason}; trying again\n`) })
  const database = openFacilitatorDatabase({ url, poolSize: 1 })
  try {
    const { pool } = database
    return await work({ settlements: createOperatorStore(pool), accounts: createAccountStore(pool) }, io)
  } finally {
    await database.close()
  }
}

/** What went wrong, for whoever runs this: no stack, and no address with a password in it. */
function reasonOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof DatabaseProblem) return error.message
  const code = error instanceof DatabaseError ? error.code : undefined
  if (code === '42P01' || code === '42703')
    return 'the database lacks tables or columns of this version; run its migrations first: tollgate-database migrate facilitator'
  if (code === '57014' || code === '55P03')
    return 'the database did not answer in time, or a settlement is held by a facilitator that is at work on it; nothing was changed, so try again'
  const message = error instanceof Error ? error.message : String(error)
  return `failed, and nothing was changed: ${message.trim().split('\n').at(-1) ?? ''}`
}

/** The process: `bin/facilitator.js`. */
export async function run(): Promise<void> {
  // A reader such as `head` that has seen enough is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.exitCode = await main(process.argv.slice(2), {
    environment: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  })
}
