import { isTollgateError, type ErrorCode, type TollgateError } from '../errors.js'
import { type NodeError } from './answers.js'

/** As EIP-1193 has it. `cause` is the TollgateError if the call did not reach a node. */
export class ProviderRpcError extends Error {
  override readonly name = 'ProviderRpcError'
  readonly code: number
  readonly data?: unknown

  constructor({ code, message, data }: NodeError, cause?: TollgateError) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    if (data !== undefined) this.data = data
  }
}

const USER_REJECTED = 4001
const UNAUTHORIZED = 4100
const DISCONNECTED = 4900
const INVALID_PARAMS = -32602
/** MetaMask’s code of a request that is still under way. */
const PENDING = -32002

const codes: Record<ErrorCode, number> = {
  ABORTED: DISCONNECTED,
  CLOCK_WRONG: UNAUTHORIZED,
  CLOSED: DISCONNECTED,
  GATEWAY_ERROR: DISCONNECTED,
  UNREACHABLE: DISCONNECTED,
  INVALID_ARGUMENT: INVALID_PARAMS,
  LIMIT_NOT_SET: UNAUTHORIZED,
  LIMIT_REACHED: UNAUTHORIZED,
  NO_PAYABLE_OFFER: UNAUTHORIZED,
  PAYMENT_DISPUTED: UNAUTHORIZED,
  PAYMENT_NOT_APPROVED: USER_REJECTED,
  PAYMENT_PENDING: PENDING,
  PAYMENT_REFUSED: UNAUTHORIZED,
  PAYMENT_UNKNOWN: UNAUTHORIZED,
  PURCHASE_UNDER_WAY: PENDING,
  RPC_ERROR: DISCONNECTED,
  SIGNATURE_REFUSED: USER_REJECTED,
  SIGN_IN_REFUSED: UNAUTHORIZED,
  STORAGE_FAILED: UNAUTHORIZED,
  TIMEOUT: DISCONNECTED,
  WALLET_UNSUPPORTED: UNAUTHORIZED,
}

/** `data.code` is the TollgateError’s. */
export const asProviderError = (error: TollgateError) =>
  new ProviderRpcError(
    { code: codes[error.code], message: error.message, data: { code: error.code, advice: error.advice } },
    error,
  )

const transient: readonly ErrorCode[] = ['UNREACHABLE', 'PAYMENT_PENDING', 'TIMEOUT']

/** Whether the same call would fail again until somebody acts: a limit, a payment or a signature was refused. */
export function isRefusal(error: unknown): error is TollgateError {
  if (!isTollgateError(error) || transient.includes(error.code)) return false
  const status = Number(error.details['status'])
  return !(error.code === 'GATEWAY_ERROR' && (status >= 500 || status === 429))
}
