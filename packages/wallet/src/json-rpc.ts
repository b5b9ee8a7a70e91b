import * as z from 'zod/mini'
import { TollgateError } from './errors.js'
import { readJson } from './http.js'
import { refusalOf } from './gateway/gateway-client.js'

const JsonRpcError = z.looseObject({ code: z.number(), message: z.string(), data: z.unknown() })
const JsonRpcAnswer = z.union([
  z.looseObject({ error: JsonRpcError }),
  z.looseObject({ result: z.unknown() }),
])

/** The node's answer, an object or a list. @throws TollgateError GATEWAY_ERROR if it is none of a node */
export async function readNodeAnswer(answer: Response): Promise<unknown> {
  const body = await readJson(answer)
  const isJsonRpc = Array.isArray(body) || JsonRpcAnswer.safeParse(body).success
  if (isJsonRpc || (answer.ok && body !== undefined)) return body
  throw refusalOf(answer, body)
}

/** @throws TollgateError RPC_ERROR with `code`, `message` and `data` of the node's error in `details` */
export function resultOf(body: unknown): unknown {
  const parsed = JsonRpcAnswer.safeParse(body)
  if (!parsed.success) throw new TollgateError('GATEWAY_ERROR', 'The answer is none of JSON-RPC')
  if (!('error' in parsed.data)) return parsed.data['result']
  const { code, message, data } = parsed.data.error as z.infer<typeof JsonRpcError>
  throw new TollgateError('RPC_ERROR', message, { details: { code, message, data } })
}
