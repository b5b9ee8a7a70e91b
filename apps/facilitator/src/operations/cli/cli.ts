import {
  DatabaseError,
  DatabaseSetupError,
  openFacilitatorDatabase,
  waitForDatabase,
} from '@tollgate/database'
import { type CommandIo, ConfigurationError, runCommand, runCommandLine, UsageError } from '@tollgate/service'
import { createDeniedAddressStore } from '../../denied-addresses/store'
import { createInvitationStore } from '../../invitations/store'
import { createRecipientStore } from '../../recipients/store'
import { clientCommands, userCommands } from './account-commands'
import { createAccountStore } from '../accounts/operator-account-store'
import { createClientKeyStore } from '../client-keys/client-key-store'
import { KeyPlaceError } from '../client-keys/key-place'
import { assetCommands } from './asset-commands'
import { type Command, type Work } from './arguments'
import { HELP } from './cli-help'
import { deniedAddressCommands, invitationCommands, recipientCommands } from './registration-commands'
import { settlementCommands } from './settlement-commands'
import { createOperatorStore } from '../settlements/operator-settlement-store'

const areas: Readonly<Record<string, Readonly<Record<string, Command>>>> = {
  settlements: settlementCommands,
  users: userCommands,
  clients: clientCommands,
  invitations: invitationCommands,
  recipients: recipientCommands,
  'denied-addresses': deniedAddressCommands,
  assets: assetCommands,
}

/** @returns the exit code: 0 done, 1 refused or failed, 2 not understood, 78 not configured */
export const main = (args: string[], io: CommandIo): Promise<number> =>
  runCommand({ name: 'facilitator', help: HELP, helpOf, run: runWork, explain }, args, io)

function helpOf(words: string[]): string | undefined {
  const [area] = words
  if (area !== undefined && !find(areas, area)) return undefined
  return commandOf(words)?.help ?? HELP
}

async function runWork(args: string[], io: CommandIo): Promise<number> {
  const { work, statementTimeoutMs } = parseCommand(args)
  const url = io.environment['DATABASE_URL']
  if (!url) throw new ConfigurationError(['DATABASE_URL is not set'])
  return withDatabase({ url, statementTimeoutMs }, io, work)
}

const find = <T>(of: Readonly<Record<string, T>>, word: string): T | undefined =>
  Object.hasOwn(of, word) ? of[word] : undefined

const commandOf = ([area = '', verb = '']: string[]): Command | undefined =>
  find(find(areas, area) ?? {}, verb)

type Parsed = { work: Work; statementTimeoutMs: number | undefined }

function parseCommand([area, verb, ...args]: string[]): Parsed {
  if (area === undefined) throw new UsageError('a command is missing')
  if (!find(areas, area)) throw new UsageError(`there is no command "${area}"`)
  const command = commandOf([area, verb ?? ''])
  if (command) return { work: command.parse(args), statementTimeoutMs: command.statementTimeoutMs }
  throw new UsageError(verb === undefined ? `${area} needs a verb` : `there is no "${area} ${verb}"`)
}

async function withDatabase(
  options: { url: string; statementTimeoutMs: number | undefined },
  io: CommandIo,
  work: Work,
): Promise<number> {
  await waitForDatabase(options.url, { onRetry: (_attempt, reason) => io.err(`${reason}; trying again\n`) })
  const database = openFacilitatorDatabase({ ...options, poolSize: 1 })
  try {
    const { pool } = database
    const stores = {
      settlements: createOperatorStore(pool),
      accounts: createAccountStore(pool),
      invitations: createInvitationStore(pool),
      recipients: createRecipientStore(pool),
      deniedAddresses: createDeniedAddressStore(pool),
      clientKeys: createClientKeyStore(pool),
    }
    return await work(stores, io)
  } finally {
    await database.close()
  }
}

function explain(error: unknown): string | undefined {
  if (error instanceof DatabaseSetupError || error instanceof KeyPlaceError) return error.message
  const code = error instanceof DatabaseError ? error.code : undefined
  if (code === '42P01' || code === '42703')
    return 'the database lacks tables or columns of this version; run its migrations first: tollgate-database migrate facilitator'
  if (code === '57014' || code === '55P03')
    return 'the database did not answer in time, or a facilitator holds the lock of a settlement; nothing was changed, so try again'
  return undefined
}

/** The process: `bin/facilitator.js`. */
export const run = (): Promise<void> => runCommandLine(main)
