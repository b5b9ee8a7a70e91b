import { advice as adviceOf, isTollgateError, type ErrorCode } from '@tollgate/wallet'

export const EXIT = {
  OK: 0,
  FAILED: 1,
  USAGE: 2,
  PAYMENT_NEEDED: 3,
  UNREACHABLE: 4,
  PAYMENT_OPEN: 5,
  INTERRUPTED: 130,
} as const

export const EXIT_CODES_HELP = `
Exit codes:
  0    done
  1    failed: the message says why
  2    wrong usage: a command, an option, a key or the environment, also if
       the gateway or the facilitator refuses it, or no gateway is at --url
  3    a payment is needed, and not allowed or above a limit
  4    the gateway, or the facilitator, cannot be reached
  5    the outcome of a payment is not known yet: run the command again, it
       sends the same payment
  130  ended by Ctrl-C; watch and mcp end with 0
`

/** What the user has to correct. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** A failure with its exit code and what to do about it. */
export class CommandError extends Error {
  override readonly name = 'CommandError'

  constructor(
    readonly code: string,
    message: string,
    readonly advice: string,
    readonly exitCode: number,
    readonly details?: Record<string, unknown>,
  ) {
    super(message)
  }
}

const exitCodes: Partial<Record<ErrorCode, number>> = {
  ABORTED: EXIT.INTERRUPTED,
  INVALID_ARGUMENT: EXIT.USAGE,
  WALLET_UNSUPPORTED: EXIT.USAGE,
  LIMIT_NOT_SET: EXIT.PAYMENT_NEEDED,
  LIMIT_REACHED: EXIT.PAYMENT_NEEDED,
  NO_PAYABLE_OFFER: EXIT.PAYMENT_NEEDED,
  PAYMENT_NOT_APPROVED: EXIT.PAYMENT_NEEDED,
  TIMEOUT: EXIT.UNREACHABLE,
  UNREACHABLE: EXIT.UNREACHABLE,
  PAYMENT_DISPUTED: EXIT.PAYMENT_OPEN,
  PAYMENT_PENDING: EXIT.PAYMENT_OPEN,
  PAYMENT_UNKNOWN: EXIT.PAYMENT_OPEN,
}

/** Where the package's advice is for programmers. */
const commandAdvice: Partial<Record<ErrorCode, string>> = {
  INVALID_ARGUMENT: '',
  LIMIT_NOT_SET: 'Buy credits with `tollgate buy`, or allow a payment with --max-payment.',
  LIMIT_REACHED: 'Raise --max-payment or --max-day, or wait for the next day (UTC).',
  PAYMENT_PENDING: 'Run the command again: it sends the same payment, never a second one.',
  UNREACHABLE: 'Check --url and the network; `tollgate doctor` names the reason.',
  NO_PAYABLE_OFFER: 'Choose a plan of your wallet with --plan (see `tollgate plans`), or use --cosmos.',
  RPC_ERROR: '',
}

export type Failure = {
  code: string
  message: string
  advice: string
  exitCode: number
  details?: Record<string, unknown>
}

export function failureOf(error: unknown): Failure {
  // Refused by the program itself, when it was asked to approve a payment.
  if (isTollgateError(error) && error.cause instanceof CommandError) return failureOf(error.cause)
  if (error instanceof UsageError)
    return { code: 'USAGE', message: error.message, advice: '', exitCode: EXIT.USAGE }
  if (error instanceof CommandError) {
    const { code, message, advice, exitCode, details } = error
    return { code, message, advice, exitCode, ...(details ? { details } : {}) }
  }
  if (isTollgateError(error)) {
    const { code, message, details } = error
    const advice =
      code === 'GATEWAY_ERROR' ? adviceForGateway(details) : (commandAdvice[code] ?? adviceOf[code])
    return {
      code,
      message: withCommands(message),
      advice,
      exitCode: isMalformed(error) ? EXIT.USAGE : (exitCodes[code] ?? EXIT.FAILED),
      ...(code === 'RPC_ERROR' || code === 'GATEWAY_ERROR' ? { details } : {}),
    }
  }
  const message = error instanceof Error ? error.message : 'an unknown error'
  return { code: 'INTERNAL', message: `Unexpected: ${message}`, advice: '', exitCode: EXIT.FAILED }
}

/** The gateway's messages name its routes and headers. */
export const withCommands = (message: string): string =>
  message
    .replace(/see GET \/(pricing|providers)\b/, 'see `tollgate plans`')
    .replace(/see GET \/keys\b/, 'see `tollgate keys list`')
    .replace(/; pay [^;]+ and send the signed payment in X-PAYMENT$/, '')

/** A gateway refuses so what an option has, such as a time that has passed. */
const isMalformed = ({ code, details }: { code: string; details: Record<string, unknown> }): boolean =>
  code === 'GATEWAY_ERROR' && details['status'] === 400

/** A refusal says itself what to change. */
const adviceForGateway = ({ status }: Record<string, unknown>): string =>
  typeof status === 'number' && status < 500 && status !== 429
    ? ''
    : 'Run the command again later; if it goes on, tell the operator of the gateway.'
