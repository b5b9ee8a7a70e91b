import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { ArgumentError, type Method } from './arguments'

const MOST_BYTES = 1_000_000
const MOST_REQUESTS = 10
/** The id of the response to a request by URI, which has none. */
const URI_ID = -1

type Request = {
  id?: number | string | null
  method?: unknown
  params?: unknown
}

type Answer = {
  jsonrpc: '2.0'
  /** Missing if the request cannot be parsed. */
  id?: number | string
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
  const error = { code, message: messages[code], ...(data && { data }) }
  return { jsonrpc: '2.0', ...(id !== undefined && { id }), error }
}

/** JSON-RPC over HTTP as in CometBFT: POST of one request or a batch, and GET of `/method?name=value`. Never throws. */
export function createRpcServer(methods: Readonly<Record<string, Method>>) {
  return createServer((request, response) => {
    void handle(request).then(
      ({ status, body }) => send(response, status, body),
      (problem: unknown) => send(response, 500, failure(undefined, -32603, String(problem))),
    )
  })

  async function handle(request: IncomingMessage) {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://node')
    if (request.method === 'POST') {
      const body = await readBody(request)
      return body === undefined
        ? {
            status: 400,
            body: failure(undefined, -32600, 'error reading request body: http: request body too large'),
          }
        : post(body, pathname)
    }
    if (request.method !== 'GET') return { status: 405, body: failure(undefined, -32600, 'GET or POST') }
    if (pathname === '/') return { status: 200, body: { methods: Object.keys(methods) } }
    return get(pathname.slice(1), searchParams)
  }

  async function get(name: string, parameters: URLSearchParams) {
    const found = own(name)
    if (!found) return { status: 404, body: '404 page not found' }
    const body = await run(URI_ID, () => found.callByUri(parameters), 'http')
    return { status: body.error ? 500 : 200, body }
  }

  async function post(text: string, pathname: string) {
    const requests = parseRequests(text)
    if (requests === undefined)
      return { status: 500, body: failure(undefined, -32700, 'error unmarshaling request') }
    if (requests.length > MOST_REQUESTS)
      return {
        status: 200,
        body: failure(
          undefined,
          -32600,
          `batch request exceeds maximum (${MOST_REQUESTS}) allowed number of requests`,
        ),
      }
    const answers: Answer[] = []
    for (const one of requests) {
      const answer = await call(one, pathname)
      if (answer) answers.push(answer)
    }
    // CometBFT returns a single response without an array.
    return {
      status: 200,
      body: answers.length === 1 ? answers[0] : answers.length === 0 ? undefined : answers,
    }
  }

  /** Returns undefined for a notification, a request without an id. */
  async function call({ id, method: name, params }: Request, pathname: string): Promise<Answer | undefined> {
    if (id === undefined || id === null) return undefined
    if (pathname !== '/') return failure(id, -32600, `path ${pathname} is invalid`)
    const found = typeof name === 'string' ? own(name) : undefined
    return found ? run(id, () => found.call(params), 'json') : failure(id, -32601)
  }

  function own(name: string) {
    return Object.hasOwn(methods, name) ? methods[name] : undefined
  }
}

async function run(id: number | string, work: () => unknown, source: 'json' | 'http'): Promise<Answer> {
  try {
    return { jsonrpc: '2.0', id, result: await work() }
  } catch (problem) {
    const text = problem instanceof Error ? problem.message : String(problem)
    return problem instanceof ArgumentError
      ? failure(id, -32602, `error converting ${source} params to arguments: ${text}`)
      : failure(id, -32603, text)
  }
}

/** Undefined if the body is too long. */
async function readBody(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let length = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    length += chunk.length
    // The rest is read and dropped, so that the client receives the response.
    if (length <= MOST_BYTES) chunks.push(chunk)
  }
  return length > MOST_BYTES ? undefined : Buffer.concat(chunks).toString()
}

/** Undefined if one of them is not a request: CometBFT parses a batch as a whole. */
function parseRequests(text: string): Request[] | undefined {
  try {
    const parsed: unknown = JSON.parse(text)
    const requests: unknown[] = Array.isArray(parsed) ? parsed : [parsed]
    return requests.every(isRequest) ? requests : undefined
  } catch {
    return undefined
  }
}

function isRequest(request: unknown): request is Request {
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return false
  const { id } = request as Request
  return id === undefined || id === null || typeof id === 'number' || typeof id === 'string'
}

function send(response: ServerResponse, status: number, body: unknown) {
  const isText = typeof body === 'string'
  response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json' })
  response.end(body === undefined ? '' : isText ? body : JSON.stringify(body))
}
