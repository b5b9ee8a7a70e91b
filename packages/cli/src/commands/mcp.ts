import { Command } from 'commander'
import { runMcp, type McpOptions, type OpenClient } from '../mcp/run'

/** `tollgate mcp`. `openClient` makes the wallet's client from the global options and the environment. */
export function mcpCommand<Options extends McpOptions>(parts: {
  openClient: OpenClient<Options>
  version: string
}): Command {
  return new Command('mcp')
    .description(
      'Serve blockchain calls and x402 payments to an AI agent, by the Model Context Protocol, within limits',
    )
    .option('--max-payment <amount>', 'the most for one payment, such as "0.05 USDC" (required)')
    .option('--max-day <amount>', 'the most for a day, midnight to midnight UTC, such as "1 USDC" (required)')
    .option(
      '--http <[host:]port>',
      'serve streamable HTTP at /mcp, by default on 127.0.0.1, instead of stdio',
    )
    .option('--log <file>', 'append each payment to a file, as lines of JSON')
    .option('--allow-private', 'let pay_x402_url call addresses of this machine and of private networks')
    .addHelpText('after', MCP_HELP)
    .action((_, command: Command) =>
      runMcp({ ...parts, options: command.optsWithGlobals<Options>(), environment: process.env }),
    )
}

const MCP_HELP = `
Environment:
  TOLLGATE_MCP_TOKEN  the bearer token of HTTP clients, required unless the
                      host is 127.0.0.1, ::1 or localhost

Examples:
  $ tollgate mcp --keystore wallet.json --max-payment "0.05 USDC" --max-day "1 USDC"
  $ tollgate mcp --http 8765 --max-payment 0.05 --max-day 1 --log payments.log
`
