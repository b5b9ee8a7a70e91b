import * as v from 'valibot'
import { TollgateError } from './errors.js'
import { refusalOf } from './gateway/gateway-client.js'

const JsonRpcError = v.looseObject({ code: v.number(), message: v.string(), data: v.optional(v.unknown()) })
const JsonRpcAnswer = v.union([
  v.looseObject({ error: JsonRpcError }),
  v.looseObject({ result: v.unknown(), error: v.nullish(v.never()) }),
])

/** The body of a node's answer, an object or a list. @throws TollgateError GATEWAY_ERROR if it is none of a node */
export function nodeAnswerOf(answer: Response, body: unknown): unknown {
  const isJsonRpc = Array.isArray(body) || v.safeParse(JsonRpcAnswer, body).success
  if (isJsonRpc || (answer.ok && body !== undefined)) return body
  throw refusalOf(answer, body)
}

/** @throws TollgateError RPC_ERROR with `code`, `message` and `data` of the node's error in `details` */
export function resultOf(body: unknown): unknown {
  const parsed = v.safeParse(JsonRpcAnswer, body)
  if (!parsed.success) throw new TollgateError('GATEWAY_ERROR', 'The answer is none of JSON-RPC')
  const { error } = parsed.output
  if (!error) return parsed.output['result']
  const { code, message, data } = error
  throw new TollgateError('RPC_ERROR', message, { details: { code, message, data } })
}
