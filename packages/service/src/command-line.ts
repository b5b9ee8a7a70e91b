import { parseArgs, type ParseArgsConfig } from 'node:util'
import { ConfigurationError } from './config'
import { EXIT_CONFIGURATION } from './run'

export type CommandIo = {
  environment: NodeJS.ProcessEnv
  out: (text: string) => unknown
  err: (text: string) => unknown
}

export type CommandLine = {
  name: string
  help: string
  /** The help of the command that `words`, without options, begin with; undefined if there is no such command. */
  helpOf: (words: string[]) => string | undefined
  /** Returns 0, or 1 if it printed why it failed. A command changes all or nothing. */
  run: (args: string[], io: CommandIo) => Promise<number>
  /** The reason to print for an error of `run`, without secrets; by default the last line of its message. */
  explain: (error: unknown) => string | undefined
}

/** An argument is missing, unknown or invalid. */
export class UsageError extends Error {}

/** @throws UsageError if an option is unknown, or lacks its value */
export function parseOptions<Options extends NonNullable<ParseArgsConfig['options']>>(
  args: string[],
  options: Options,
): ReturnType<typeof parseArgs<{ args: string[]; allowPositionals: true; options: Options }>> {
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/**
 * Runs a command, or prints its help for `--help` and `-h`, whatever options follow the command. Prints errors without a stack.
 *
 * @returns the exit code: 0 done, 1 refused or failed, 2 usage error, 78 ConfigurationError
 */
export async function runCommand(
  { name, help, helpOf, run, explain }: CommandLine,
  args: string[],
  io: CommandIo,
): Promise<number> {
  const commandArgs = args.filter((word) => word !== '--help' && word !== '-h')
  const commandHelp = helpOf(commandArgs.filter((word) => !word.startsWith('-')))
  if (commandHelp !== undefined && commandArgs.length < args.length) {
    io.out(commandHelp)
    return 0
  }
  try {
    return await run(commandArgs, io)
  } catch (error) {
    if (error instanceof UsageError) {
      io.err(`${name}: ${error.message}\n\n${commandHelp ?? help}`)
      return 2
    }
    if (error instanceof ConfigurationError) {
      io.err(`${name}: ${error.problems.join('; ')}\n`)
      return EXIT_CONFIGURATION
    }
    io.err(`${name}: ${explain(error) ?? `failed, and nothing was changed: ${lastLineOf(error)}`}\n`)
    return 1
  }
}

function lastLineOf(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message.trim().split('\n').at(-1) ?? ''
}

/** Runs the command line as this process. */
export async function runCommandLine(
  main: (args: string[], io: CommandIo) => Promise<number>,
): Promise<void> {
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
