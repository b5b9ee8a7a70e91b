import { Command } from 'commander'
import { runMcp, UsageError, type McpOptions, type OpenClient } from '../mcp/run'

const USAGE_EXIT_CODE = 2

/** `tollgate mcp`. `openClient` makes the wallet's client from the global options and the environment. */
export function mcpCommand<Options extends McpOptions>(parts: {
  openClient: OpenClient<Options>
  version: string
}): Command {
  return new Command('mcp')
    .description(
      'Serve blockchain calls and x402 payments to an AI agent, by the Model Context Protocol, within limits',
    )
    .option('--max-payment <amount>', 'the most for one payment, such as 0.05 (required)')
    .option('--max-day <amount>', 'the most for a day, midnight to midnight UTC, such as 1 (required)')
    .option(
      '--http <[host:]port>',
      'serve streamable HTTP at /mcp, by default on 127.0.0.1, instead of stdio',
    )
    .option('--log <file>', 'append each payment to a file, as lines of JSON')
    .option('--allow-private', 'let pay_x402_url call addresses of this machine and of private networks')
    .addHelpText(
      'after',
      '\nEnvironment:\n  TOLLGATE_MCP_TOKEN  the bearer token of HTTP clients, required unless the host is 127.0.0.1, ::1 or localhost\n',
    )
    .action(async (_, command: Command) => {
      try {
        await runMcp({ ...parts, options: command.optsWithGlobals<Options>(), environment: process.env })
      } catch (error) {
        if (!(error instanceof UsageError)) throw error
        process.stderr.write(`tollgate mcp: ${error.message}\n`)
        process.exitCode = USAGE_EXIT_CODE
      }
    })
}
