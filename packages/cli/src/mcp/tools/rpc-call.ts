import { type Tollgate } from '@tollgate/wallet'
import { z } from 'zod'
import { hasDotSegments } from '../../dot-segments'
import { readBounded } from '../bounded-body'
import { type AmountFormat } from '../amounts'
import { type CallEvents } from '../call-events'
import { ToolError, withToolNames } from '../failure'
import { defineTool, type Tool } from '../tool'
import { ChainName, MAX_OUTPUT, MethodName } from './inputs'
import { PaidOutput, paidOutput, SENT_DESCRIPTION, SentOutput, sentOutput } from './paid-output'

const MAX_PARAMS = 200_000
const MAX_ANSWER_BYTES = 32 * 1024 * 1024

const Rest = z
  .strictObject({
    path: z
      .string()
      .max(4_000)
      .regex(/^\/?[^\s#\\]*$/, 'must be a path, with a query if there is one')
      .refine((path) => !hasDotSegments(path), 'must not lead out of the REST API')
      .describe('Path and query, such as cosmos/bank/v1beta1/supply'),
    method: z.enum(['GET', 'POST']).default('GET'),
    body: z.string().max(MAX_PARAMS).optional().describe('JSON, for POST'),
  })
  .describe(
    'A call of the chain’s REST API, for chains with the transport `rest`; then `method` and `params` are not given',
  )

export function createRpcCall(parts: {
  tollgate: Tollgate
  follow: CallEvents
  format: AmountFormat
  limits: string
}): Tool {
  const { tollgate, follow, format } = parts
  return defineTool({
    name: 'rpc_call',
    title: 'Call a blockchain',
    description: `Makes one JSON-RPC or REST call to a blockchain and returns the node's answer. It costs credits, most often one; without credits left it first buys the credits of one plan from the wallet, within the limits. Use price first to know the cost, and list_chains for the chains. A transaction that is sent cannot be taken back. ${parts.limits}`,
    input: {
      chain: ChainName,
      method: MethodName.optional().describe('A method of the chain’s JSON-RPC, such as eth_blockNumber'),
      params: z
        .union([z.array(z.unknown()), z.record(z.string(), z.unknown())])
        .optional()
        .describe('Parameters of the method, as a list or an object'),
      rest: Rest.optional(),
    },
    output: {
      result: z.unknown().optional().describe('The node’s answer; absent if it was cut'),
      result_text: z
        .string()
        .optional()
        .describe('The beginning of an answer that was cut, or one that is not JSON'),
      note: z.string().optional(),
      credits_charged: z.number().nullable(),
      credits_left: z.number().nullable(),
      paid: z.array(PaidOutput).describe('Payments that this call made'),
      sent: z.array(SentOutput).describe(SENT_DESCRIPTION),
    },
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
    run: (input, context) =>
      follow(context, async (payments) => {
        const { url, init } = requestOf(tollgate.url, input)
        const answer = await tollgate.fetch(url, { ...init, redirect: 'error', signal: context.signal })
        const { bytes, isCut } = await readBounded(answer, MAX_ANSWER_BYTES)
        const costs = {
          credits_charged: header(answer, 'charged'),
          credits_left: header(answer, 'remaining'),
        }
        const text = bytes.toString('utf8')
        const value = input.rest ? readRest(answer, text) : readRpc(answer, text, isCut)
        return {
          ...bounded(value),
          ...costs,
          paid: paidOutput(payments.paid, format),
          sent: sentOutput(payments.sent, format),
        }
      }),
  })
}

type Input = {
  chain: string
  method?: string | undefined
  params?: unknown
  rest?: z.output<typeof Rest> | undefined
}

function requestOf(url: string, { chain, method, params, rest }: Input): { url: string; init: RequestInit } {
  const base = `${url}/v1/${encodeURIComponent(chain)}`
  const headers = { 'content-type': 'application/json' }
  if ((method === undefined) === (rest === undefined))
    throw new ToolError('INVALID_ARGUMENT', 'Either `method` or `rest` is needed', 'Give one of them.')
  if (rest)
    return {
      url: `${base}/rest/${rest.path.replace(/^\/+/, '')}`,
      init: {
        method: rest.method,
        ...(rest.body === undefined || rest.method === 'GET' ? {} : { headers, body: rest.body }),
      },
    }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: params ?? [] })
  if (body.length > MAX_PARAMS)
    throw new ToolError(
      'INVALID_ARGUMENT',
      `The parameters have ${body.length} characters, and ${MAX_PARAMS} are allowed`,
      'Split the call.',
    )
  return { url: base, init: { method: 'POST', headers, body } }
}

const RpcError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown().optional() })
const RpcAnswer = z.union([z.looseObject({ error: RpcError }), z.looseObject({ result: z.unknown() })])
const Refusal = z.looseObject({ code: z.string(), message: z.string() })

/** @throws ToolError RPC_ERROR, GATEWAY_ERROR */
function readRpc(answer: Response, text: string, isCut: boolean): { value?: unknown; text: string } {
  if (isCut) return { text }
  const body = parseJson(text)
  const parsed = RpcAnswer.safeParse(body)
  if (parsed.success && 'error' in parsed.data) {
    const { code, message, data } = parsed.data.error as z.output<typeof RpcError>
    if (!isOfNode(answer)) throw refusalOf(answer, { code: String(code), message })
    throw new ToolError(
      'RPC_ERROR',
      `The node refused the call: ${message.slice(0, 2_000)}`,
      'Correct the call; the details have the node’s error.',
      { code, data: JSON.stringify(data ?? null).slice(0, 2_000) },
    )
  }
  if (parsed.success) {
    const value = parsed.data['result']
    return { value, text: JSON.stringify(value) }
  }
  throw refusalOf(answer, body)
}

/** Else it is the gateway's own. */
const isOfNode = ({ headers }: Response) => headers.has('x-credits-charged')

function readRest(answer: Response, text: string): { value?: unknown; text: string } {
  const value = parseJson(text)
  if (!answer.ok && !isOfNode(answer)) throw refusalOf(answer, value)
  if (!answer.ok)
    throw new ToolError('REST_ERROR', `The node answered ${answer.status}`, 'Correct the call.', {
      status: answer.status,
      answer: text.slice(0, 2_000),
    })
  return { value, text }
}

function refusalOf({ status }: Response, body: unknown): ToolError {
  const parsed = Refusal.safeParse(body)
  const message = parsed.success
    ? withToolNames(parsed.data.message).slice(0, 2_000)
    : `The gateway answered ${status}`
  const details = { status, ...(parsed.success ? { code: parsed.data.code } : {}) }
  const advice =
    'Correct what the message names. list_chains has the chains and the methods that are not served.'
  return new ToolError('GATEWAY_ERROR', message, advice, details)
}

function bounded({ value, text }: { value?: unknown; text: string }) {
  if (text.length > MAX_OUTPUT)
    return {
      result_text: text.slice(0, MAX_OUTPUT),
      note: `The answer has ${text.length} characters; only the first ${MAX_OUTPUT} are here. Ask for less, such as fewer blocks.`,
    }
  return value === undefined ? { result_text: text } : { result: value }
}

function header({ headers }: Response, name: 'charged' | 'remaining'): number | null {
  const text = headers.get(`x-credits-${name}`)
  return text === null || !/^\d{1,15}$/.test(text) ? null : Number(text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
