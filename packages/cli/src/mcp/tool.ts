import { type McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { type RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  type CallToolResult,
  type ServerNotification,
  type ServerRequest,
  type ToolAnnotations,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { toJson } from '../output/printable'
import { failureOf, ToolError, type ToolFailure } from './failure'

export type ToolContext = {
  signal: AbortSignal
  progressToken: string | number | undefined
  notifyProgress(progress: { progressToken: string | number; progress: number; message: string }): void
}

export type Tool = { register(server: McpServer, report: (unexpected: unknown) => void): void }

type Definition<Input extends z.ZodRawShape, Output extends z.ZodRawShape> = {
  name: string
  title: string
  description: string
  input: Input
  output: Output
  annotations: ToolAnnotations
  run(input: z.output<z.ZodObject<Input>>, context: ToolContext): Promise<z.input<z.ZodObject<Output>>>
}

const Failure = z
  .object({
    code: z.string(),
    message: z.string(),
    advice: z.string(),
    details: z.record(z.string(), z.unknown()),
  })
  .describe('Present only if the call failed; then the other members are absent')

/**
 * A tool whose errors are results: text with what to do, and the code in `error` of the structured content. Clients check the
 * structured content of errors against the schema too, so no member of it is required.
 */
export function defineTool<Input extends z.ZodRawShape, Output extends z.ZodRawShape>(
  definition: Definition<Input, Output>,
): Tool {
  const { name, title, description, annotations, run } = definition
  const inputSchema: z.ZodType = z.strictObject(definition.input)
  const outputSchema: z.ZodType = z.object(definition.output).partial().extend({ error: Failure.optional() })
  return {
    register(server, report) {
      server.registerTool(
        name,
        { title, description, inputSchema, outputSchema, annotations: { title, ...annotations } },
        async (input: unknown, extra: Extra) => {
          try {
            return resultOf(await run(input as z.output<z.ZodObject<Input>>, contextOf(extra)))
          } catch (error) {
            const failure = failureOf(error)
            if (failure.code === 'INTERNAL') report(error instanceof ToolError ? error.cause : error)
            return errorResultOf(failure)
          }
        },
      )
    },
  }
}

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

const contextOf = ({ signal, _meta, sendNotification }: Extra): ToolContext => ({
  signal,
  progressToken: _meta?.progressToken,
  notifyProgress(params) {
    sendNotification({ method: 'notifications/progress', params }).catch(() => undefined)
  },
})

const resultOf = (value: Record<string, unknown>): CallToolResult => ({
  content: [{ type: 'text', text: toJson(value) }],
  structuredContent: value,
})

function errorResultOf({ code, message, advice, details }: ToolFailure): CallToolResult {
  const detail = Object.keys(details).length === 0 ? '' : ` ${toJson(details)}`
  return {
    isError: true,
    content: [{ type: 'text', text: `${code}: ${message}. ${advice}${detail}` }],
    structuredContent: { error: { code, message, advice, details } },
  }
}
