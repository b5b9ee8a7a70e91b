import {
  FacilitatorDocument,
  IdempotencyKey,
  SettleRequest,
  SettleRequestOfAnyVersion,
  SettleRequestV2,
  SettleResult,
  SupportedByFacilitator,
  SupportedKinds,
  SupportedKindsV2,
  VerifyResult,
} from '@tollgate/protocol'
import { type Operation } from '@tollgate/service'
import { z } from 'zod'
import { callers, refusals } from './errors'

const SettleHeaders = z.object({
  'Idempotency-Key': IdempotencyKey.optional().describe(
    'A key of your choice, one per settlement. The same request under the same key gets the same outcome, including success, however often it is sent. Visible ASCII; one header only.',
  ),
})

const extensionResponses = {
  description:
    'If the payment declared its resource in `extensions.bazaar` (or in version 1 in `outputSchema`): base64 of JSON, `{"bazaar":{"status":"processing"}}`, or `rejected` with `rejectedReason`.',
  schema: z.string(),
}

const unreadable = {
  INVALID_REQUEST: 'A field is missing or wrong.',
  INVALID_PAYLOAD: 'The payment payload cannot be decoded.',
}

const versions = [
  {
    of: 'version 1',
    base: '/api/v1',
    suffix: '',
    body: SettleRequest,
    kinds: SupportedKinds,
    words: 'Networks are named as `GET /api/v1/networks` names them.',
  },
  {
    of: 'version 2',
    base: '/api/v2',
    suffix: 'V2',
    body: SettleRequestV2,
    kinds: SupportedKindsV2,
    words: 'Networks are named as CAIP-2: `eip155:84532`.',
  },
  {
    of: 'of both versions',
    base: '',
    suffix: 'AtRoot',
    body: SettleRequestOfAnyVersion,
    words:
      'The `x402Version` of the body, or else of its payload, selects the version; the answer is that of `/api/v1` or `/api/v2`.',
  },
]

export const paymentOperations: Operation[] = versions.flatMap(
  ({ of, base, suffix, body, kinds, words }): Operation[] => {
    const tag = `x402 ${of}`
    return [
      {
        id: `verify${suffix}`,
        method: 'post',
        path: `${base}/verify`,
        tag,
        summary: 'Check a payment without settling it.',
        description: `Checks whether the payment would settle now. Sends nothing to the chain and claims nothing, so it is free. A refused payment also gets 200, with \`isValid\` false and the reason.\n\n${words}`,
        auth: callers.client,
        body: { schema: body },
        answers: { 200: { description: 'The result of the verification.', schema: VerifyResult } },
        errors: {
          ...unreadable,
          ...refusals.client,
          ...refusals.limited,
          VERIFICATION_FAILED:
            'The payment could not be checked: the network did not answer. Send the request again.',
        },
      },
      {
        id: `settle${suffix}`,
        method: 'post',
        path: `${base}/settle`,
        tag,
        summary: 'Settle a payment on chain.',
        description: `Checks the payment, sends it, and answers once it is final: 200 with \`success\` and the transaction, or with \`errorReason\`. A payment is settled once, however many requests ask for it, and success is reported once, to the client that claimed it.\n\n\`settlement_pending\` means that the outcome is not known yet: send the same request again, and do not ask for another payment. Do the same if a response was lost; send an \`Idempotency-Key\` to get a success again.\n\n\`transfer_event_mismatch\` means that \`transaction\` moved another amount than the payer signed: do not serve, and do not ask for another payment before that is resolved.\n\n${words}`,
        auth: callers.client,
        headers: SettleHeaders,
        body: { schema: body },
        answers: {
          200: {
            description: 'The result of the settlement.',
            schema: SettleResult,
            headers: { 'EXTENSION-RESPONSES': extensionResponses },
          },
        },
        errors: {
          ...unreadable,
          ...refusals.client,
          ...refusals.limited,
          SETTLEMENT_FAILED:
            'The payment could not be settled just now. Send the same request again: it is not charged twice.',
          OVERLOADED: 'Too many settlements are under way; nothing was done. Try again after `Retry-After`.',
        },
      },
      kinds
        ? {
            id: `getSupported${suffix}`,
            method: 'get',
            path: `${base}/supported`,
            tag,
            summary: 'List the supported networks; also a check that a client key is valid.',
            auth: callers.client,
            answers: { 200: { description: 'The available networks.', schema: kinds } },
            errors: refusals.client,
          }
        : {
            id: `getSupported${suffix}`,
            method: 'get',
            path: `${base}/supported`,
            tag,
            summary: 'List the supported networks, extensions and signers, without a client key.',
            answers: {
              200: {
                description: 'The available networks, once for each version.',
                schema: SupportedByFacilitator,
              },
            },
            errors: refusals.limited,
          },
    ]
  },
)

export const documentOperation: Operation = {
  id: 'getFacilitatorDocument',
  method: 'get',
  path: '/.well-known/x402',
  tag: 'x402 of both versions',
  summary: 'Get what this facilitator offers, and where.',
  answers: { 200: { description: 'The document.', schema: FacilitatorDocument } },
  errors: refusals.limited,
}
