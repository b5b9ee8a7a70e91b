import { PaymentRequired, PurchaseAnswer, RpcRequest } from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'
import { MAX_PAYMENT_HEADER_LENGTH } from '../../payments/payment-header'
import { refusals } from './errors'

const proof = () => z.string().max(MAX_PAYMENT_HEADER_LENGTH).optional()

const paymentHeaders = z.object({
  'X-PAYMENT': proof().describe(
    'A signed payment that resolves a 402: base64 of an x402 version 1 payload, or of `{paymentPayload, paymentRequirements}`; also the payload, or its own `payload` alone, as plain JSON. What is signed is, on an EVM chain, `{signature, authorization}`; by Permit2 `{signature, permit2Authorization}`, with the token’s own permit beside them as `eip2612GasSponsoring` where Permit2 may not move the token yet; on a Cosmos chain `{version, chainId, payment}`, as an object or in base64. At most one.',
  ),
  'PAYMENT-SIGNATURE': proof().describe(
    'The same of x402 version 2: base64 of `{x402Version: 2, accepted, payload}`, where `accepted` is what `PAYMENT-REQUIRED` offered. Beside an `X-PAYMENT` it holds the same payment.',
  ),
})

const heightHeader = z
  .string()
  .regex(/^(0|[1-9][0-9]{0,18})$/)
  .optional()
  .meta({
    description:
      'On a Cosmos chain, the height of the block whose state is read. `Grpc-Metadata-X-Cosmos-Block-Height` is the same. Other `Grpc-Metadata-` headers are refused.',
  })

/** The headers of a call. */
export const callHeaders = paymentHeaders.extend({ 'X-Cosmos-Block-Height': heightHeader })

const credits = z.string().regex(/^\d+$/)

const json = z.string().meta({ examples: ['eyJzdWNjZXNzIjp0cnVlfQ=='] })

export const afterPayment = {
  'X-PAYMENT-RESPONSE': {
    description:
      'Where a payment came along: what became of it, as base64 of JSON with `success`, `transaction`, `errorReason`, `network` and `payer`.',
    schema: json,
  },
  'PAYMENT-RESPONSE': {
    description: 'The same for clients of x402 version 2: `network` is CAIP-2.',
    schema: json,
  },
}

export const asked = {
  'PAYMENT-REQUIRED': {
    description:
      'What to pay, as x402 version 2 asks for it: base64 of JSON with `x402Version`, `error`, `resource` and `accepts`. On a Cosmos chain the offer’s `extra.feePayer` is whom the payment may name as `fee.granter`, to bear its fee.',
    schema: z.string().meta({ examples: ['eyJ4NDAyVmVyc2lvbiI6Mn0='] }),
  },
}

export const afterCall = {
  'X-Credits-Charged': {
    description:
      'What this call cost; `0` where the node does not know the method. Only an answer of the provider has it, so it tells one from a refusal of ours; and `UPSTREAM_FAILED` for a call that timed out and was charged all the same.',
    schema: credits.meta({ examples: ['1'] }),
  },
  'X-Credits-Remaining': {
    description: 'The balance of the plan after this call.',
    schema: credits.meta({ examples: ['99'] }),
  },
}

const afterPurchase = {
  PAYMENT_DISPUTED:
    'The token moved something else than the payment says, and nothing was credited: do not pay again; the gateway’s operator decides.',
  PAYMENT_PENDING:
    'The payment’s outcome is not known yet: send the same request with the same `X-PAYMENT` after `Retry-After`, and do not pay again.',
}

export const callOperations: Operation[] = [
  {
    id: 'call',
    method: 'post',
    path: '/rpc',
    tag: 'Calls',
    summary: 'Make a paid RPC or REST call.',
    description:
      'Spends credits of the session’s plan, forwards the call to a provider of the chain, and gives its answer back as it came: status, media type and bytes. A call costs one credit, or the weight of its method; a batch costs the sum of its entries. Where no node answered, because each provider asked refused the call (401, 402, 403, 407, 413, 429, an error of JSON-RPC about its limits or its keys, or a page in place of JSON), failed (408 or 5xx without an error of the node’s own) or timed out, the answer is `UPSTREAM_FAILED` and the credits are given back. Entries of a batch that no node answered have an error of the gateway, and are given back too. A wallet has a budget of calls a minute that time out; further ones are charged. A JSON-RPC call of a method that is not served over HTTP, such as `eth_subscribe`, is refused before it costs (`not_served` of `GET /providers`); one that the node answers with “method not found” (-32601 or -32004, a batch if all its entries are), is given back, over a budget of such entries a minute charged. A long answer that its provider breaks off is cut off here as well, and charged.\n\nWithout enough credits the answer is 402 and says what to pay. Send the same request again with the signed payment in `X-PAYMENT` or `PAYMENT-SIGNATURE`: it is settled, the credits are issued, and the call is made. The same payment is never charged twice, so a request that carries one may be repeated until its outcome is known.\n\nA body has at most 1 MiB, 1,000 entries of a batch, 32,768 JSON values, 4,096 objects and 16,384 keys, of which 2,048 may differ and 1,024 may have an escape; at most 4,096 of its numbers may have more than 15 characters. It is sent uncompressed, and is read only for a bearer token that is good. The payload of a `GET` has at most 16 KiB. For the rate limit it counts as a call for each 16 KiB.',
    auth: ['bearer'],
    headers: callHeaders,
    body: { schema: RpcRequest },
    answerHeaders: afterPayment,
    answers: {
      200: {
        description: 'The provider’s response, unchanged.',
        contentType: '*/*',
        headers: afterCall,
        examples: { jsonRpc: { jsonrpc: '2.0', id: 1, result: '0x1' } },
      },
      402: {
        description: 'Not enough credits, and no payment came along or it was refused. Nothing was charged.',
        schema: PaymentRequired,
        headers: asked,
      },
      default: {
        description:
          'What the provider answered, with any status it chose; also with one of those listed here but 401, 402, 403, 413 and 429, told from our own by `X-Credits-Charged`.',
        contentType: '*/*',
        headers: afterCall,
        examples: { notFound: 'no such block' },
      },
    },
    errors: {
      INVALID_REQUEST:
        'The call, its `resource` or its payment cannot be read, its method is not served over HTTP, or it costs more than one payment buys.',
      ...refusals.bearer,
      PAYLOAD_TOO_LARGE: 'The body has more than 1 MiB.',
      NOT_FOUND: 'No provider serves that chain, or the plan is gone or not sold any more.',
      ...refusals.limited,
      UPSTREAM_FAILED:
        'No provider answered; the credits were given back, unless `X-Credits-Charged` says that the call timed out over the budget of its wallet.',
      ...afterPurchase,
      OVERLOADED:
        'Too many calls wait just now, or too many large bodies, of this wallet or in all; nothing was charged.',
      UNAVAILABLE:
        'The call could not be paid for just now and was not made, or its charge could not be confirmed and its answer is withheld. Credits that it took come back within a minute, or once the database is back.',
    },
  },
  {
    id: 'buyCredits',
    method: 'post',
    path: '/credits',
    tag: 'Calls',
    summary: 'Buy credits of the session’s plan, without a call.',
    description:
      'Without a payment the answer is 402 and says what to pay, however many credits there are. Send the same request again with the signed payment in `X-PAYMENT` or `PAYMENT-SIGNATURE`: it is settled, and its credits are issued. The same payment is charged once, here and at `POST /rpc`, and the answer to it is the same purchase. There is no body.',
    auth: ['bearer'],
    headers: paymentHeaders,
    answerHeaders: afterPayment,
    answers: {
      200: { description: 'What the payment bought.', schema: PurchaseAnswer },
      402: {
        description: 'No payment came along, or it was refused. Nothing was charged.',
        schema: PaymentRequired,
        headers: asked,
      },
    },
    errors: {
      INVALID_REQUEST: 'The payment cannot be read.',
      ...refusals.bearer,
      NOT_FOUND: 'The plan is gone or not sold any more.',
      ...refusals.limited,
      ...afterPurchase,
      OVERLOADED: 'Too many calls or payments wait just now; nothing was charged.',
    },
  },
]
