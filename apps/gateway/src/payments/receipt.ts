import { caip2, encodeJson, type SettleResult } from '@tollgate/protocol'
import { type Plan } from '../catalog/catalog'
import { type Extensions } from '../extensions/extension'

export type Receipt = { 'X-PAYMENT-RESPONSE': string; 'PAYMENT-RESPONSE': string }

type ReceiptFields = Partial<SettleResult> & Pick<SettleResult, 'payer'> & { createdAt?: Date }

/** `extensions` are of x402 version 2. */
export function receiptOf(
  plan: Plan,
  { createdAt = new Date(), ...facts }: ReceiptFields,
  extensions?: Extensions,
): Receipt {
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
    'PAYMENT-RESPONSE': encodeJson({
      ...result,
      network: caip2(plan),
      ...(extensions ? { extensions } : {}),
    }),
  }
}

/** Reasons come from the facilitator: only short ASCII goes into headers. */
export const errorCodeOf = (reason: string): string =>
  /^[a-z0-9_]{1,128}$/.test(reason) ? reason : 'invalid_payment'

const MAX_DETAIL = 200

export const detailOf = (message: string | undefined): string | undefined =>
  message
    ?.slice(0, MAX_DETAIL)
    .replace(/[^\x20-\x7e]/g, '?')
    .trim() || undefined
