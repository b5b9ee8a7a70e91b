import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import {
  LoggingLevelSchema,
  SetLevelRequestSchema,
  type LoggingLevel,
} from '@modelcontextprotocol/sdk/types.js'
import { type Limits, type Tollgate } from '@tollgate/wallet'
import { type KnownAsset } from '../assets/stablecoins'
import { createAmountFormat, describeLimits } from './amounts'
import { createCallEvents } from './call-events'
import { readDocument } from './gateway-info'
import { type PaymentEntry } from './payment-entry'
import { createCredits, createHistory } from './tools/account-tools'
import { createListChains, createPrice } from './tools/catalog-tools'
import { createPayX402Url } from './tools/pay-x402-url'
import { createRpcCall } from './tools/rpc-call'

/** Of one session with a client. All sessions share the wallet and its limits. */
export type Session = { server: McpServer; notify(entry: PaymentEntry): void }

const MAX_TOOL_INPUT_ELEMENTS = 20_000
const levels = LoggingLevelSchema.options
const levelOf: Record<PaymentEntry['event'], LoggingLevel> = {
  paid: 'notice',
  pending: 'notice',
  'limit-reached': 'warning',
}

export type CreateSession = ReturnType<typeof createSessionFactory>

export function createSessionFactory(parts: {
  tollgate: Tollgate
  limits: Limits
  known: readonly KnownAsset[]
  version: string
  report: (unexpected: unknown) => void
}) {
  const { tollgate, known, version, report } = parts
  const format = createAmountFormat(known)
  const limits = describeLimits(parts.limits, format)
  const follow = createCallEvents(tollgate, format)
  const tools = [
    createListChains(tollgate),
    createPrice(tollgate, known),
    createRpcCall({ tollgate, follow, format, limits }),
    createCredits(tollgate),
    createHistory(tollgate),
    createPayX402Url({ tollgate, follow, format, limits }),
  ]
  const instructions = `Blockchain calls through the Tollgate gateway ${tollgate.url}, and any x402 URL, paid from the user's wallet. Payments are real money. ${limits} A payment over a limit is refused: then tell the user, and do not try to get around it. After PAYMENT_PENDING or PAYMENT_UNKNOWN follow the advice of the error; do not pay again in another way.`

  return (): Session => {
    let level: LoggingLevel | undefined
    const server = new McpServer(
      { name: 'tollgate', title: 'Tollgate', version },
      { instructions, capabilities: { logging: {} }, maxToolInputElements: MAX_TOOL_INPUT_ELEMENTS },
    )
    server.server.setRequestHandler(SetLevelRequestSchema, ({ params }) => {
      level = params.level
      return {}
    })
    for (const tool of tools) tool.register(server, report)
    addResources(server, tollgate)
    return {
      server,
      notify(entry) {
        const own = levelOf[entry.event]
        if (level === undefined || levels.indexOf(own) < levels.indexOf(level)) return
        const params = { level: own, logger: 'payments', data: entry }
        server.server.notification({ method: 'notifications/message', params }).catch(() => undefined)
      },
    }
  }
}

const resources = [
  {
    name: 'api',
    uri: 'tollgate://api',
    path: '/openapi.json',
    title: 'API of the gateway',
    description: 'The gateway’s HTTP interface, as OpenAPI',
    mimeType: 'application/json',
  },
  {
    name: 'llms.txt',
    uri: 'tollgate://llms.txt',
    path: '/llms.txt',
    title: 'llms.txt of the gateway',
    description: 'What the gateway offers, for language models',
    mimeType: 'text/plain',
  },
]

function addResources(server: McpServer, tollgate: Tollgate): void {
  for (const { name, uri, path, ...metadata } of resources)
    server.registerResource(name, uri, metadata, async (_, { signal }) => {
      const text = await readDocument(tollgate, path, signal)
      return { contents: [{ uri, mimeType: metadata.mimeType, text }] }
    })
}
