import { caip2, encodeJson, type SettleResult } from '@tollgate/protocol'
import { type Plan } from '../catalog/catalog'

/** What became of a payment, in the headers in which x402 clients of version 1 and 2 read it. */
export type Receipt = { 'X-PAYMENT-RESPONSE': string; 'PAYMENT-RESPONSE': string }

type Facts = Partial<SettleResult> & Pick<SettleResult, 'payer'> & { createdAt?: Date }

/** The receipt of a payment on `plan`: of a failure unless told otherwise. Version 2 names networks as CAIP-2. */
export function receiptOf(plan: Plan, { createdAt = new Date(), ...facts }: Facts): Receipt {
  const result: SettleResult = {
    success: false,
    transaction: '',
    errorReason: '',
    network: plan.network,
    blockNumber: 0,
    timestamp: createdAt.toISOString(),
    ...facts,
  }
  return {
    'X-PAYMENT-RESPONSE': encodeJson(result),
    'PAYMENT-RESPONSE': encodeJson({ ...result, network: caip2(plan) }),
  }
}

/** A reason is the facilitator's word, and clients read headers as ASCII, and not for ever. */
export const codeOf = (reason: string): string =>
  /^[a-z0-9_]{1,128}$/.test(reason) ? reason : 'invalid_payment'

const MAX_DETAIL = 200

/** What a facilitator says of a refusal, short and in ASCII; undefined where it says nothing. */
export const detailOf = (message: string | undefined): string | undefined =>
  message
    ?.slice(0, MAX_DETAIL)
    .replace(/[^\x20-\x7e]/g, '?')
    .trim() || undefined
