import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { ArgumentError, type Method } from './arguments'

const MOST_BYTES = 1_000_000
const MOST_REQUESTS = 10
/** What a request by URI is answered under: it has no id of its own. */
const URI_ID = -1

interface Answer {
  jsonrpc: '2.0'
  id: number | string | null
  result?: unknown
  error?: { code: number; message: string; data?: string }
}

const messages = {
  [-32700]: 'Parse error. Invalid JSON',
  [-32600]: 'Invalid Request',
  [-32601]: 'Method not found',
  [-32602]: 'Invalid params',
  [-32603]: 'Internal error',
} as const

function failure(id: Answer['id'], code: keyof typeof messages, data?: string): Answer {
  return { jsonrpc: '2.0', id, error: { code, message: messages[code], ...(data && { data }) } }
}

/** JSON-RPC over HTTP as CometBFT has it: POST of one request or some, and GET of `/method?name=value`. Never throws, whatever comes. */
export function createRpcServer(methods: Readonly<Record<string, Method>>) {
  return createServer((request, response) => {
    void handle(request).then(
      ({ status, body }) => send(response, status, body),
      (problem: unknown) => send(response, 500, failure(null, -32603, String(problem))),
    )
  })

  async function handle(request: IncomingMessage) {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://node')
    if (request.method === 'POST') {
      const body = await readBody(request)
      return body === undefined
        ? {
            status: 400,
            body: failure(null, -32600, 'error reading request body: http: request body too large'),
          }
        : post(body, pathname)
    }
    if (request.method !== 'GET') return { status: 405, body: failure(null, -32600, 'GET or POST') }
    if (pathname === '/') return { status: 200, body: { methods: Object.keys(methods) } }
    return get(pathname.slice(1), searchParams)
  }

  async function get(name: string, parameters: URLSearchParams) {
    const found = own(name)
    if (!found) return { status: 404, body: failure(URI_ID, -32601) }
    const body = await run(URI_ID, () => found.callByUri(parameters))
    return { status: body.error ? 500 : 200, body }
  }

  async function post(text: string, pathname: string) {
    const parsed = parse(text)
    if (typeof parsed !== 'object' || parsed === null)
      return { status: 500, body: failure(null, -32700, 'error unmarshaling request') }
    const requests: unknown[] = Array.isArray(parsed) ? parsed : [parsed]
    if (requests.length > MOST_REQUESTS)
      return {
        status: 200,
        body: failure(
          null,
          -32600,
          `batch request exceeds maximum (${MOST_REQUESTS}) allowed number of requests`,
        ),
      }
    const answers: Answer[] = []
    for (const one of requests) {
      const answer = await call(one, pathname)
      if (answer) answers.push(answer)
    }
    // As CometBFT does: a batch that has one answer is answered without a list.
    return {
      status: 200,
      body: answers.length === 1 ? answers[0] : answers.length === 0 ? undefined : answers,
    }
  }

  /** Answers nothing to a notification, which is a request without an id. */
  async function call(request: unknown, pathname: string): Promise<Answer | undefined> {
    if (typeof request !== 'object' || request === null) return failure(null, -32600, 'not a request')
    const { id, method: name, params } = request as Record<string, unknown>
    if (id === undefined || id === null) return undefined
    if (typeof id !== 'number' && typeof id !== 'string')
      return failure(null, -32600, 'the id is a number or a string')
    if (pathname !== '/') return failure(id, -32600, `path ${pathname} is invalid`)
    const found = typeof name === 'string' ? own(name) : undefined
    return found ? run(id, () => found.call(params)) : failure(id, -32601)
  }

  function own(name: string) {
    return Object.hasOwn(methods, name) ? methods[name] : undefined
  }
}

async function run(id: number | string, work: () => unknown): Promise<Answer> {
  try {
    return { jsonrpc: '2.0', id, result: await work() }
  } catch (problem) {
    const text = problem instanceof Error ? problem.message : String(problem)
    return problem instanceof ArgumentError
      ? failure(id, -32602, `error converting params to arguments: ${text}`)
      : failure(id, -32603, text)
  }
}

/** Undefined where it is too long. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    // The rest is read and dropped, so that the answer arrives.
    if (length <= MOST_BYTES) chunks.push(chunk)
  }
  return length > MOST_BYTES ? undefined : Buffer.concat(chunks).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function send(response: ServerResponse, status: number, body: unknown) {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(body === undefined ? '' : JSON.stringify(body))
}
