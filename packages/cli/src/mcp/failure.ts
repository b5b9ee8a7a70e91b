import { isTollgateError } from '@tollgate/wallet'
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
    return { code, message: trimmed(message), advice, details: plain(details) }
  }
  return {
    code: 'INTERNAL',
    message: `The call failed (${error instanceof Error ? error.name : typeof error})`,
    advice: 'Call again; if it fails again, report it with the log of the server.',
    details: {},
  }
}

/** A sentence without its full stop, and bounded: nodes and merchants choose texts of any length. */
const trimmed = (message: string) => withToolNames(message).slice(0, MAX_DETAIL_CHARACTERS).replace(/\.$/, '')

/** The gateway's messages name its routes, which an agent does not call. */
export const withToolNames = (message: string): string =>
  message.replace(/see GET \/providers\b/, 'see list_chains').replace(/see GET \/pricing\b/, 'see price')

/** As JSON has it, without what is absent. */
function plain(details: Record<string, unknown>): Record<string, unknown> {
  const text = JSON.stringify(details, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  )
  if (text.length > MAX_DETAIL_CHARACTERS) return { cut: text.slice(0, MAX_DETAIL_CHARACTERS) }
  return JSON.parse(text) as Record<string, unknown>
}
