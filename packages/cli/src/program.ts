import { Command, CommanderError } from 'commander'
import { buyCommand } from './commands/buy'
import { callCommand } from './commands/call'
import { completionCommand } from './commands/completion'
import { creditsCommand } from './commands/credits'
import { doctorCommand } from './commands/doctor'
import { collect } from './commands/help'
import { historyCommand } from './commands/history'
import { keysCommand } from './commands/keys'
import { loginCommand, logoutCommand } from './commands/login'
import { mcpCommand } from './commands/mcp'
import { paymentsCommand } from './commands/payments'
import { plansCommand } from './commands/plans'
import { shopCommand } from './commands/shop'
import { walletCommand } from './commands/wallet'
import { watchCommand } from './commands/watch'
import { explainUrl } from './find-wrong-url'
import { EXIT, EXIT_CODES_HELP, UsageError } from './exit-codes'
import { openClient, payWithinLimits, type ClientOptions, type OpenClient } from './open-client'
import { isReaderGone, outputFailed } from './output/output'
import { createRun, outputOf, type Run } from './run-command'
import { createSecrets, type Secrets, type Terminal } from './terminal'
import { withoutKeys } from './wallets/key-texts'
import { openWallet } from './wallets/open-wallet'

/** Runs one command line, without the program's own name. Returns the exit code. */
export async function runProgram(
  words: readonly string[],
  { terminal, version }: { terminal: Terminal; version: string },
): Promise<number> {
  const secrets = createSecrets()
  const result = { exitCode: EXIT.OK as number }
  const run = createRun({ terminal, secrets, end: (exitCode) => (result.exitCode = exitCode) })
  const open = (options: ClientOptions) => openAgentClient(options, { terminal, secrets })
  const program = createProgram({ run, open, version })
  program.hook('preAction', (_, command) => readEnvironment(command, terminal.environment))
  const isJson = wantsJson(words)
  configure(program, terminal, isJson)
  try {
    await program.parseAsync(words, { from: 'user' })
    return result.exitCode
  } catch (error) {
    if (error instanceof CommanderError && error.exitCode === 0) return EXIT.OK
    const options = program.opts<ClientOptions>()
    const output = outputOf({ ...options, json: isJson }, terminal, secrets)
    if (!(error instanceof CommanderError)) return output.fail(await explainUrl(error, options.url))
    return isJson ? output.fail(asUsageError(error)) : EXIT.USAGE
  }
}

/** Nothing can be asked later: a keystore is opened now. */
function openAgentClient(options: ClientOptions, parts: { terminal: Terminal; secrets: Secrets }) {
  const all = { ...parts, output: outputOf(options, parts.terminal, parts.secrets) }
  const unlocked = async () => {
    const wallet = await openWallet(options, all)
    await wallet.unlock()
    return wallet
  }
  return openClient(options, { ...all, openWallet: unlocked }, payWithinLimits(options))
}

type ProgramParts = {
  run: Run
  open: (options: ClientOptions) => Promise<OpenClient>
  version: string
}

function createProgram({ run, open, version }: ProgramParts): Command {
  const program = new Command('tollgate')
    .description('Blockchain calls, paid by the call from a wallet, at a Tollgate gateway')
    .usage('[options] <command>')
    .version(version, '-V, --version', 'show the version')
    .helpOption('-h, --help', 'show the help')
    .configureHelp({ subcommandTerm: (command) => command.name() })
    .addHelpText('after', PROGRAM_HELP)
  program
    .optionsGroup('Gateway:')
    .option('--url <url>', 'the gateway (TOLLGATE_URL)')
    .option('--plan <number>', 'a plan of `tollgate plans` (TOLLGATE_PLAN)')
    .option(
      '--service-name <name>',
      'the name in its sign-in text, if it takes no other (TOLLGATE_SERVICE_NAME)',
    )
    .option(
      '--node <chain=url>',
      'a node of your own, for Cosmos payments and `doctor`; may be repeated',
      collect,
    )
    .optionsGroup('Wallet, the first that is given of --keystore, PRIVATE_KEY and MNEMONIC:')
    .option('--keystore <file>', 'an encrypted keystore (TOLLGATE_KEYSTORE)')
    .option(
      '--password-file <file>',
      'its password, in the first line; else TOLLGATE_PASSWORD, else it is asked',
    )
    .option('--cosmos', 'a Cosmos wallet of the same key or mnemonic')
    .option('--cosmos-prefix <prefix>', 'the same, with other addresses than cosmos1…, such as osmo')
    .optionsGroup('Limits, without which only `buy` pays:')
    .option('--max-payment <amount>', 'the most for one payment, such as "0.05 USDC" (TOLLGATE_MAX_PAYMENT)')
    .option('--max-day <amount>', 'the most for a day, midnight to midnight UTC (TOLLGATE_MAX_DAY)')
    .option(
      '--asset <network/asset:decimals>',
      'pay in this asset, too, besides USDC and EURC; may be repeated (TOLLGATE_ASSETS, with commas)',
      collect,
    )
    .optionsGroup('Output and files:')
    .option('--json', 'print JSON')
    .option('--no-color', 'print without colors (NO_COLOR)')
    .option('--folder <folder>', 'sessions and payments (TOLLGATE_FOLDER; default: ~/.local/state/tollgate)')
    .optionsGroup('Options:')

  program
    .commandsGroup('Buy and call:')
    .addCommand(plansCommand(run))
    .addCommand(buyCommand(run))
    .addCommand(callCommand(run))
    .commandsGroup('Look back:')
    .addCommand(creditsCommand(run))
    .addCommand(historyCommand(run))
    .addCommand(paymentsCommand(run))
    .addCommand(watchCommand(run))
    .commandsGroup('Wallet and access:')
    .addCommand(walletCommand(run))
    .addCommand(loginCommand(run))
    .addCommand(logoutCommand(run))
    .addCommand(keysCommand(run))
    .commandsGroup('AI agents:')
    .addCommand(mcpCommand({ openClient: open, version }))
    .commandsGroup('Merchants:')
    .addCommand(shopCommand(run))
    .commandsGroup('This program:')
    .addCommand(doctorCommand(run))
    .addCommand(completionCommand(run, program))
    .helpCommand('help [command]', 'Show the help of a command')
  return program
}

const PROGRAM_HELP = `
Examples:
  $ export TOLLGATE_URL=https://gateway.example
  $ tollgate wallet new wallet.json
  $ tollgate plans
  $ tollgate buy --plan 1 --keystore wallet.json
  $ tollgate call base-sepolia eth_blockNumber --keystore wallet.json

Keys and passwords come from files, the environment or a terminal, never from
an option: other users of the machine can see a command line.
${EXIT_CODES_HELP}`

/** Options that a variable may give. */
const VARIABLES = {
  url: 'TOLLGATE_URL',
  plan: 'TOLLGATE_PLAN',
  serviceName: 'TOLLGATE_SERVICE_NAME',
  keystore: 'TOLLGATE_KEYSTORE',
  maxPayment: 'TOLLGATE_MAX_PAYMENT',
  maxDay: 'TOLLGATE_MAX_DAY',
  asset: 'TOLLGATE_ASSETS',
  folder: 'TOLLGATE_FOLDER',
  facilitator: 'TOLLGATE_FACILITATOR',
}

function readEnvironment(command: Command, environment: Terminal['environment']): void {
  for (let at: Command | null = command; at; at = at.parent)
    for (const [option, variable] of Object.entries(VARIABLES)) {
      const value = environment[variable]
      const isOption = at.options.some((one) => one.attributeName() === option)
      if (value && isOption && at.getOptionValue(option) === undefined)
        at.setOptionValueWithSource(option, option === 'asset' ? listOf(value) : value, 'env')
    }
}

const listOf = (value: string) =>
  value
    .split(',')
    .map((entry) => entry.trim())
    .filter(Boolean)

/** Also if the command line is wrong, and is not read to its end. */
function wantsJson(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  return words.slice(0, end < 0 ? undefined : end).includes('--json')
}

function asUsageError({ code, message }: CommanderError): UsageError {
  if (code === 'commander.help') return new UsageError('Name a command: `tollgate --help` lists them')
  return new UsageError(
    withoutKeys(
      withHelp(message)
        .replace(/^error: /, '')
        .trim()
        .replaceAll(/\s+/g, ' '),
    ),
  )
}

const withHelp = (text: string): string =>
  text.startsWith('error: unknown command')
    ? `${text.trimEnd()}\n\`tollgate --help\` lists the commands\n`
    : text

function configure(program: Command, { stdout, stderr }: Terminal, isJson: boolean): void {
  program.exitOverride().configureOutput({
    writeOut: (text) =>
      void stdout.write(text, (error) => {
        if (error && !isReaderGone(error)) stderr.write(`Error: ${outputFailed(error).message}\n`)
      }),
    // Its error has the same, and is printed as JSON.
    writeErr: (text) => void (isJson || stderr.write(withoutKeys(text))),
    outputError: (text, write) => write(withHelp(text).replace(/^error: /, 'Error: ')),
    getOutHasColors: () => false,
    getErrHasColors: () => false,
    getOutHelpWidth: () => 80,
    getErrHelpWidth: () => 80,
  })
  for (const command of program.commands) inherit(command, program)
}

/** Commands that were made elsewhere end as the program does. */
function inherit(command: Command, parent: Command): void {
  command.copyInheritedSettings(parent)
  for (const child of command.commands) inherit(child, command)
}
