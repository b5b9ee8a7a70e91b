import { isTollgateError } from '@tollgate/wallet'
import { printableLines } from '../output/printable'
import { adviceForSigned } from '../with-funding'
import { findPrivateAddress } from './outbound-guard'

/** What the model reads of a call that failed. */
export type ToolFailure = { code: string; message: string; advice: string; details: Record<string, unknown> }

/** A failure of a tool itself. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly failure: ToolFailure

  constructor(
    code: string,
    message: string,
    advice: string,
    details: Record<string, unknown> = {},
    cause?: unknown,
  ) {
    super(message, cause === undefined ? {} : { cause })
    this.failure = { code, message, advice, details }
  }
}

const MAX_DETAIL_CHARACTERS = 4_000

/** An unexpected error says nothing of itself: its text could contain anything. */
export function failureOf(error: unknown): ToolFailure {
  return bounded(failureIn(error))
}

function failureIn(error: unknown): ToolFailure {
  if (error instanceof ToolError) return error.failure
  const refused = findPrivateAddress(error)
  if (refused)
    return {
      code: 'PRIVATE_ADDRESS',
      message: refused.message,
      advice: 'Only public addresses are called. The user can allow others with --allow-private.',
      details: {},
    }
  if (isTollgateError(error)) {
    const { code, message, advice, details } = error
    const valid = code === 'PAYMENT_REFUSED' ? adviceForSigned(details, 'call') : ''
    return { code, message: withToolNames(message), advice: `${advice}${valid}`, details }
  }
  return {
    code: 'INTERNAL',
    message: `The call failed (${error instanceof Error ? error.name : typeof error})`,
    advice: 'Call again; if it fails again, report it with the log of the server.',
    details: {},
  }
}

/** Nodes and merchants choose texts of any length, and with any characters. The message is a sentence without its full stop. */
const bounded = ({ code, message, advice, details }: ToolFailure): ToolFailure => ({
  code: trimmed(code),
  message: trimmed(message).replace(/\.$/, ''),
  advice: trimmed(advice),
  details: plain(details),
})

const trimmed = (text: string) => printableLines(text.slice(0, MAX_DETAIL_CHARACTERS))

/** The gateway's messages name its routes, which an agent does not call. */
export const withToolNames = (message: string): string =>
  message
    .replace(/see GET \/providers\b/, 'see list_chains')
    .replace(/see GET \/pricing\b/, 'see price')
    .replace(/; pay [^;]+ and send the signed payment in X-PAYMENT$/, '')

/** As JSON has it, without what is absent. */
function plain(details: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(details, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : typeof value === 'string' ? printableLines(value) : value,
  )
  if (text.length > MAX_DETAIL_CHARACTERS) return { cut: text.slice(0, MAX_DETAIL_CHARACTERS) }
  return JSON.parse(text) as Record<string, unknown>
}
