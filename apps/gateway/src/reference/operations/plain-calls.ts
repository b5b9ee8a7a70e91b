import { PaymentChoice } from '@tollgate/protocol'
import { type ErrorCode, type Operation } from '@tollgate/service'
import { z } from 'zod'
import { afterCall, afterPayment, asked, callHeaders } from './calls'
import { refusals } from './errors'

const tag = 'Plain URLs'

const chain = z
  .string()
  .min(1)
  .max(128)
  .meta({ description: 'A chain: its CAIP-2 id, its chain id or its name.', examples: ['eip155:84532'] })
const ChainPath = z.object({ chain })
const ChainAndPath = z.object({
  chain,
  path: z
    .string()
    .min(1)
    .max(2048)
    .meta({
      description:
        'An access key; `rest/` and a path of the chain’s REST API; a method of CometBFT; or an access key and one of the latter two.',
      examples: ['rest/status'],
    }),
})

const JsonRpcRequest = z
  .union([z.record(z.string(), z.unknown()), z.array(z.record(z.string(), z.unknown()))])
  .meta({
    id: 'JsonRpcRequest',
    description: 'A JSON-RPC request, or a batch of them. It goes to the node byte for byte.',
    examples: [{ jsonrpc: '2.0', id: 1, method: 'eth_blockNumber', params: [] }],
  })

const answers = {
  200: {
    description:
      'The node’s answer, unchanged; or a JSON-RPC error of the gateway, which has no `X-Credits-Charged`.',
    contentType: '*/*',
    headers: afterCall,
    examples: { jsonRpc: { jsonrpc: '2.0', id: 1, result: '0x1' } },
  },
  204: {
    description: 'Nothing, to notifications that the gateway refused.',
    contentType: '*/*',
    examples: { nothing: '' },
  },
  402: {
    description:
      'No credentials, or no credits, and no payment came along or it was refused. The header has an entry for each plan and transfer method. For a session it names its plan only, as for `POST /rpc`.',
    schema: z.union([PaymentChoice, z.record(z.string(), z.unknown())]).meta({
      examples: [{ status: 402, message: 'Calls to this chain are sold in bundles of credits' }],
    }),
    headers: asked,
  },
  default: {
    description:
      'What the node answered, with any status it chose, told from our own by `X-Credits-Charged`.',
    contentType: '*/*',
    headers: afterCall,
    examples: { notFound: 'no such block' },
  },
} satisfies Operation['answers']

const errors: Partial<Record<ErrorCode, string>> = {
  INVALID_REQUEST: 'The payment cannot be read; or, except in JSON-RPC, the path or the body is not valid.',
  ...refusals.bearer,
  FORBIDDEN: 'The access key does not allow this call, or has spent its credits.',
  NOT_FOUND: 'No provider serves this chain, or nothing is served at this path.',
  METHOD_NOT_ALLOWED: 'JSON-RPC goes by `POST`, a method of CometBFT in the path by `GET`.',
  PAYLOAD_TOO_LARGE: 'The body has more than 1 MiB.',
  ...refusals.limited,
  UPSTREAM_FAILED: 'No provider answered a call that is not JSON-RPC; the credits were given back.',
  PAYMENT_DISPUTED: 'The token moved something else than the payment says: do not pay again.',
  PAYMENT_PENDING:
    'The payment, or the call that it serves, has no outcome yet: send the same request with the same payment after `Retry-After`, and do not pay again.',
  OVERLOADED: 'Too many calls or payments wait just now; nothing was charged.',
  UNAVAILABLE: 'The call could not be paid for just now, or its charge could not be confirmed.',
}

const auth = [[], 'bearer']

export const plainCallOperations: Operation[] = [
  {
    id: 'callChain',
    method: 'post',
    path: '/v1/{chain}',
    tag,
    summary: 'Call a chain’s JSON-RPC, as at a node.',
    description:
      'Takes what a node takes and answers as it does, so a client of the chain needs this URL only. It is paid with the credits of a session, by a payment that comes along, or, at `/v1/{chain}/{key}`, with an access key.\n\nErrors that JSON-RPC has a code for are JSON-RPC errors with status 200, and cost nothing: -32700 for a body that cannot be read, -32600 for one that is no request, in a batch for each of its entries, -32601 for a method that is not served over HTTP, with -32600 for the other entries of its batch, which is not sent, -32603 if no provider answered. Others, such as 401, 402, 403, 404, 429 and 503, keep their status.\n\n**Without a sign-in** the answer is 402, unless this gateway gives free credits to addresses, and has an entry for each plan on sale and each way to pay it. Send the same request again with the signed payment in `X-PAYMENT` or `PAYMENT-SIGNATURE`: it is settled and credited to its payer, and this call is served. A payment serves one call: sent again after a lost answer or a failed upstream, by the same client, it serves the call and is not settled again; sent again after the call was served it is refused as `duplicate_settlement`. The other credits belong to the payer, who spends them after a sign-in.',
    auth,
    pathParameters: ChainPath,
    headers: callHeaders,
    body: { schema: JsonRpcRequest },
    answerHeaders: afterPayment,
    answers,
    errors,
  },
  {
    id: 'getPrice',
    method: 'get',
    path: '/v1/{chain}',
    tag,
    summary: 'Get the price of a call, as a 402.',
    auth,
    pathParameters: ChainPath,
    headers: callHeaders,
    answers: { 402: answers[402] },
    errors,
  },
  {
    id: 'callChainAt',
    method: 'post',
    path: '/v1/{chain}/{path}',
    tag,
    summary: 'Call a chain with an access key, or its REST API by POST.',
    auth,
    pathParameters: ChainAndPath,
    headers: callHeaders,
    body: { schema: JsonRpcRequest },
    answerHeaders: afterPayment,
    answers,
    errors,
  },
  {
    id: 'getFromChain',
    method: 'get',
    path: '/v1/{chain}/{path}',
    tag,
    summary: 'Call a chain’s REST API, or a method of CometBFT, by GET.',
    description: 'Path and query go to the node as they come, within the rules of `resource` of `POST /rpc`.',
    auth,
    pathParameters: ChainAndPath,
    headers: callHeaders,
    answerHeaders: afterPayment,
    answers,
    errors,
  },
]
