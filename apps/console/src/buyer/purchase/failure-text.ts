import { messageOf } from '../../api/api-error'
import { buyer } from '../../texts'
import { codeOf } from './purchase'

const texts = buyer.purchase
const advice: Partial<Record<string, string>> = texts.advice
const reasons: Partial<Record<string, string>> = texts.reasons

/** EIP-1193 */
const USER_REJECTED = 4001
const REJECTION = /reject|denied|declin|cancel/i

/** Why a purchase or a call failed, in one text for its reader. `asked`: what the wallet was asked to sign. */
export function failureText(error: unknown, asked: 'sign-in' | 'sign' = 'sign'): string {
  const code = codeOf(error)
  if (code === 'SIGNATURE_REFUSED') return signatureText(error, asked)
  if (code === 'PAYMENT_REFUSED') return refusalText(error) ?? texts.outcomes.refused.text
  return (typeof code === 'string' ? advice[code] : undefined) ?? messageOf(error)
}

/** Undefined if the gateway gave no reason that has a sentence. */
export function refusalText(error: unknown): string | undefined {
  const { reason } = (error as { details?: { reason?: unknown } } | undefined)?.details ?? {}
  const [code = ''] = typeof reason === 'string' ? reason.split(':') : []
  return Object.hasOwn(reasons, code) ? reasons[code] : undefined
}

function signatureText(error: unknown, asked: 'sign-in' | 'sign'): string {
  const { cause } = error as { cause?: unknown }
  const message = messageOf(cause ?? error)
  if (codeOf(cause) === 'NETWORK_NOT_CHANGED') return message
  const isDeclined = codeOf(cause) === USER_REJECTED || (cause !== undefined && REJECTION.test(message))
  return isDeclined ? texts.declined[asked] : texts.walletFailed(message.replace(/\.$/, ''))
}
