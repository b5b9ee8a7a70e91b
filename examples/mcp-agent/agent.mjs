import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { createRequire } from 'node:module'

// In an agent's own configuration: { "command": "npx", "args": ["-y", "@tollgate/cli", "mcp", ...] }
const tollgate = createRequire(import.meta.url).resolve('@tollgate/cli/dist/main.js')
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [tollgate, 'mcp', '--max-payment', '0.01 USDC', '--max-day', '0.10 USDC'],
  env: process.env,
})
const client = new Client({ name: 'example-agent', version: '0.1.0' })
await client.connect(transport)

const { tools } = await client.listTools()
console.log('tools', tools.map(({ name }) => name).join(', '))

// What a model would decide: look at the price, then call.
const use = async (name, args = {}) => {
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: args })
  console.log(isError ? 'refused' : name, JSON.stringify(structuredContent ?? content))
}
await use('price', { chain: 'eip155:84532', method: 'eth_blockNumber' })
await use('rpc_call', { chain: 'eip155:84532', method: 'eth_blockNumber', params: [] })
await use('credits')
await client.close()
