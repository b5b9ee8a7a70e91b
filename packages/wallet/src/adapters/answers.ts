import { TollgateError } from '../errors.js'

export type NodeError = { code: number; message: string; data?: unknown }
export type Answer = { result: unknown } | { error: NodeError }

type Identified = { id: unknown }

/**
 * The answer to each request of `body`, in their order: nodes answer a batch in any order, and may refuse it as a whole.
 *
 * @throws TollgateError GATEWAY_ERROR if `answer` is no JSON-RPC
 */
export function answersOf(body: Identified | readonly Identified[], answer: unknown): Answer[] {
  if (!Array.isArray(body)) return [read(answer)]
  const requests = body as readonly Identified[]
  if (!Array.isArray(answer)) {
    const refusal = read(answer)
    if ('result' in refusal) throw notJsonRpc()
    return requests.map(() => refusal)
  }
  const byId = new Map((answer as unknown[]).filter(isObject).map((entry) => [entry['id'], find(entry)]))
  return requests.map(({ id }) => byId.get(id) ?? MISSING)
}

const MISSING: Answer = {
  error: { code: -32000, message: 'The node left this call out of its answer to the batch' },
}

function read(answer: unknown): Answer {
  const found = isObject(answer) ? find(answer) : undefined
  if (!found) throw notJsonRpc()
  return found
}

function find({ error, result }: Record<string, unknown>): Answer | undefined {
  if (error === undefined || error === null) return result === undefined ? undefined : { result }
  if (!isObject(error)) return { error: { code: -32000, message: JSON.stringify(error) } }
  const { code, message, data } = error
  return {
    error: {
      code: typeof code === 'number' ? code : -32000,
      message: typeof message === 'string' ? message : '',
      ...(data === undefined ? {} : { data }),
    },
  }
}

const notJsonRpc = () => new TollgateError('GATEWAY_ERROR', 'The node’s answer is no JSON-RPC')

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null
