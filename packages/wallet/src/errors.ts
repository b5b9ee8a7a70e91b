/** What to do about each error, in words for a user or a log. */
export const advice = {
  ABORTED:
    'The call was stopped by its signal. A payment that was signed is kept, and sent again by the next call.',
  CLOCK_WRONG: 'Set the clock of this machine by the network, and call again. No payment was signed.',
  CLOSED: 'This client was closed; create another one.',
  GATEWAY_ERROR:
    'Read the message: it says what to change. `details.status` and `details.code` are the gateway’s.',
  INVALID_ARGUMENT: 'Correct the argument that the message names.',
  LIMIT_NOT_SET: 'Give `limits` with this asset to allow payments; without them nothing is paid.',
  LIMIT_REACHED: 'Raise the limit that the message names, or wait for the next day.',
  NO_PAYABLE_OFFER: 'Use a wallet of an ecosystem and asset that is offered, or another plan.',
  PAYMENT_DISPUTED: 'Do not pay again: ask the operator of the gateway to decide.',
  PAYMENT_NOT_APPROVED: '`approve` did not allow this payment. Nothing was signed.',
  PAYMENT_PENDING: 'Call again: the same payment is sent, never a second one.',
  PAYMENT_REFUSED:
    'Remove the cause that the message names, such as a missing balance, and call again. The gateway charged nothing; at another resource, look for the payment on chain.',
  PAYMENT_UNKNOWN:
    'The payment may have been taken without an answer. Look for it on chain before you call again.',
  PURCHASE_UNDER_WAY:
    'Wait until the other tab, process or call of this wallet has bought, and look at the balance before you buy again.',
  RPC_ERROR: 'The node refused the call: `details` has its code, message and data.',
  SIGNATURE_REFUSED: 'The wallet did not sign. Ask its user, and call again.',
  SIGN_IN_REFUSED: 'Read the message: the gateway did not take the sign-in.',
  STORAGE_FAILED: 'Make the storage readable and writable; nothing is paid without it.',
  TIMEOUT: 'Call again. A payment that was signed is kept, and sent again.',
  UNREACHABLE: 'Check the URL and the network, and call again.',
  WALLET_UNSUPPORTED: 'Use one of the wallets that the README lists.',
} as const

export type ErrorCode = keyof typeof advice

type Options = { cause?: unknown; details?: Record<string, unknown> }

/** Every error of this package. `code` is stable; `advice` says what to do. */
export class TollgateError extends Error {
  override readonly name = 'TollgateError'
  readonly code: ErrorCode
  readonly details: Record<string, unknown>

  constructor(code: ErrorCode, message: string, { cause, details = {} }: Options = {}) {
    super(message, cause === undefined ? {} : { cause })
    this.code = code
    this.details = details
  }

  get advice(): string {
    return advice[this.code]
  }
}

/** Also for an error of another copy of this package, as CommonJS and ESM in one program are. */
export const isTollgateError = (error: unknown): error is TollgateError =>
  error instanceof Error && error.name === 'TollgateError' && 'code' in error
