import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { follow } from './program'
import { root, type World } from './world'

const PROGRAM = join(root, 'packages/cli/dist/main.js')

export type McpArguments = {
  wallet: { privateKey: string }
  args?: string[]
  environment?: Record<string, string>
}

export const LIMITS = ['--max-payment', '0.05', '--max-day', '1']

const environmentOf = (
  { gateway, serviceName, folder }: World,
  { wallet, environment = {} }: McpArguments,
) => ({
  PATH: process.env['PATH'] ?? '',
  TOLLGATE_URL: gateway.url,
  TOLLGATE_SERVICE_NAME: serviceName,
  PRIVATE_KEY: wallet.privateKey,
  TOLLGATE_FOLDER: join(folder, `wallet-${randomUUID()}`),
  ...environment,
})

export type ToolResult = {
  isError: boolean
  text: string
  content: Record<string, unknown>
  error: { code: string; message: string; advice: string; details: Record<string, unknown> } | undefined
}

/** Calls a tool; the public client checks the structured content against the schema of the tool. */
export async function callTool(
  client: Client,
  name: string,
  input: Record<string, unknown> = {},
  options: Parameters<Client['callTool']>[2] = {},
): Promise<ToolResult> {
  const result = CallToolResultSchema.parse(
    await client.callTool({ name, arguments: input }, undefined, { timeout: 150_000, ...options }),
  )
  const [block] = result.content
  const content = result.structuredContent ?? {}
  return {
    isError: result.isError === true,
    text: block?.type === 'text' ? block.text : '',
    content,
    error: content['error'] as ToolResult['error'],
  }
}

export type StdioSession = Awaited<ReturnType<typeof startStdio>>

/** The program behind the public client, over stdio. `problems` are what the client could not read. */
export async function startStdio(world: World, parts: McpArguments) {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [PROGRAM, 'mcp', ...(parts.args ?? LIMITS)],
    env: environmentOf(world, parts),
    stderr: 'pipe',
  })
  let log = ''
  transport.stderr?.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const client = newClient()
  const problems: Error[] = []
  client.onerror = (error) => problems.push(error)
  await client.connect(transport)
  deliverInOrder(transport)
  // Of the list of tools, the client takes the schemas that it checks results with.
  await client.listTools()
  return { client, problems, log: () => log, lines: () => linesOf(log), close: () => client.close() }
}

/** The client handles a response at once and a notification later: of those it reads together, the response would be first. */
function deliverInOrder(transport: StdioClientTransport) {
  const deliver = transport.onmessage
  transport.onmessage = (message) => void setImmediate(() => deliver?.(message))
}

export const newClient = () => new Client({ name: 'e2e', version: '1.0.0' })

export const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** The program as a plain process. */
export function spawnMcp(world: World, parts: McpArguments) {
  const child = spawn(process.execPath, [PROGRAM, 'mcp', ...(parts.args ?? LIMITS)], {
    env: environmentOf(world, parts),
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  return { ...follow(child), stdin: child.stdin }
}

/** The program over HTTP, on a free port. */
export async function startHttp(world: World, parts: McpArguments & { listen?: string }) {
  const args = [...(parts.args ?? LIMITS), '--http', parts.listen ?? '0']
  const program = spawnMcp(world, { ...parts, args })
  await program.said('"listening"')
  const line = linesOf(program.output()).find(({ event }) => event === 'listening')
  const url = new URL(String(line?.['url']))
  return {
    ...program,
    url,
    async connect(headers: Record<string, string> = {}) {
      const client = newClient()
      const transport = new StreamableHTTPClientTransport(url, { requestInit: { headers } })
      await client.connect(transport)
      return { client, transport }
    },
    async stop() {
      program.child.kill('SIGTERM')
      return program.exited
    },
  }
}
