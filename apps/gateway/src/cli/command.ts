import { type GatewayDatabase, openGatewayDatabase, waitForDatabase } from '@tollgate/database'
import { type CommandIo, ConfigurationError, UsageError } from '@tollgate/service'

export type Command = {
  help: string
  /**
   * `args`: what follows the command's name.
   *
   * @returns the exit code
   * @throws UsageError
   */
  run: (args: string[], io: CommandIo) => Promise<number>
}

/** @throws UsageError if the name of a command is missing, or an option */
export function commandName([name]: string[], of = ''): string {
  if (name === undefined) throw new UsageError(of === '' ? 'command missing' : `subcommand of ${of} missing`)
  if (name.startsWith('-')) throw new UsageError(`options come after the command, so not ${name} before it`)
  return name
}

/** @throws ConfigurationError */
export function databaseUrl({ environment }: CommandIo): string {
  const url = environment['DATABASE_URL']
  if (!url) throw new ConfigurationError(['DATABASE_URL is not set; it names the gateway’s Postgres'])
  return url
}

/** Waits until the database accepts connections. `statementTimeoutMs`: by default as in the service. */
export async function withDatabase<T>(
  options: { url: string; statementTimeoutMs?: number },
  io: CommandIo,
  work: (database: GatewayDatabase) => Promise<T>,
): Promise<T> {
  await waitForDatabase(options.url, { onRetry: (_attempt, reason) => io.err(`${reason}; trying again\n`) })
  const database = openGatewayDatabase({ ...options, poolSize: 1 })
  try {
    return await work(database)
  } finally {
    await database.close()
  }
}
