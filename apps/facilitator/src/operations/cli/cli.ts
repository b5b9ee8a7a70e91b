import {
  DatabaseError,
  DatabaseSetupError,
  openFacilitatorDatabase,
  waitForDatabase,
} from '@tollgate/database'
import { clientCommands, invitationCommands, userCommands } from './account-commands'
import { createAccountStore } from './operator-account-store'
import { assetCommands } from './asset-commands'
import { UsageError, type Command, type Io, type Work } from './arguments'
import { HELP } from './cli-help'
import { settlementCommands } from './settlement-commands'
import { createOperatorStore } from './operator-settlement-store'

/** EX_CONFIG of sysexits.h */
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
    const work = parseCommand(args, command)
    const url = io.environment['DATABASE_URL']
    if (url) return await withDatabase(url, io, work)
    io.err('facilitator: DATABASE_URL is not set\n')
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

function parseCommand([area, verb, ...args]: string[], command: Command | undefined): Work {
  if (area === undefined) throw new UsageError('a command is missing')
  if (!find(areas, area)) throw new UsageError(`there is no command "${area}"`)
  if (command) return command.parse(args)
  throw new UsageError(verb === undefined ? `${area} needs a verb` : `there is no "${area} ${verb}"`)
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

/** Without a stack, or an address that contains a password. */
function reasonOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof DatabaseSetupError) return error.message
  const code = error instanceof DatabaseError ? error.code : undefined
  if (code === '42P01' || code === '42703')
    return 'the database lacks tables or columns of this version; run its migrations first: tollgate-database migrate facilitator'
  if (code === '57014' || code === '55P03')
    return 'the database did not answer in time, or a facilitator holds the lock of a settlement; nothing was changed, so try again'
  const message = error instanceof Error ? error.message : String(error)
  return `failed, and nothing was changed: ${message.trim().split('\n').at(-1) ?? ''}`
}

/** The process: `bin/facilitator.js`. */
export async function run(): Promise<void> {
  // `head` closes the pipe early.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.exitCode = await main(process.argv.slice(2), {
    environment: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  })
}
