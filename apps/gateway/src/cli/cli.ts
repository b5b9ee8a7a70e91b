import { DatabaseSetupError, GatewayPrisma } from '@tollgate/database'
import { type CommandIo, runCommand, runCommandLine, UsageError } from '@tollgate/service'
import { CatalogError } from '../catalog/yaml-diagnostics'
import { auditCommand } from './audit-command'
import { catalogCommand } from './catalog-command'
import { HELP } from './cli-help'
import { type Command, commandName } from './command'
import { paymentsCommand } from './payments-command'

const commands: Readonly<Record<string, Command>> = {
  audit: auditCommand,
  catalog: catalogCommand,
  payments: paymentsCommand,
}
const find = (name: string) => (Object.hasOwn(commands, name) ? commands[name] : undefined)

const helpOf = ([name]: string[]): string | undefined => (name === undefined ? HELP : find(name)?.help)

/** @returns exit code: 0 done, 1 refused or failed, 2 usage error, 78 not configured */
export const main = (args: string[], io: CommandIo): Promise<number> =>
  runCommand({ name: 'gateway', help: HELP, helpOf, run: dispatch, explain }, args, io)

async function dispatch(args: string[], io: CommandIo): Promise<number> {
  const name = commandName(args)
  const command = find(name)
  if (!command) throw new UsageError(`unknown command "${name}"`)
  return command.run(args.slice(1), io)
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
