import { type CommandIo, UsageError } from '@tollgate/service'
import { readPercent } from '../../percent'
import { type AccountStore } from '../accounts/operator-account-store'
import { type ClientKeyStore } from '../client-keys/client-key-store'
import { type DeniedAddressStore } from '../../denied-addresses/store'
import { type InvitationStore } from '../../invitations/store'
import { type RecipientStore } from '../../recipients/store'
import { inOneLine } from './format'
import { type OperatorStore } from '../settlements/operator-settlement-store'

export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 100_000
/** The maximum of a Postgres `integer` column. */
export const MAX_ID = 2 ** 31 - 1

/** Runs a parsed command. Resolves to the exit code. */
export type Work = (
  stores: {
    settlements: OperatorStore
    accounts: AccountStore
    invitations: InvitationStore
    recipients: RecipientStore
    deniedAddresses: DeniedAddressStore
    clientKeys: ClientKeyStore
  },
  io: CommandIo,
) => Promise<number>

export type Command = {
  help: string
  parse: (args: string[]) => Work
  /** Of one statement; by default as in the service. */
  statementTimeoutMs?: number
}

export function parseWholeNumber(
  option: string,
  text: string,
  { from, to }: { from: number; to: number },
): number {
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : NaN
  if (number >= from && number <= to) return number
  throw new UsageError(`${option} needs a whole number from ${from} to ${to}`)
}

export function assertCount(positionals: string[], count: number, problem: string): string[] {
  if (positionals.length !== count) throw new UsageError(problem)
  return positionals
}

export function reportUnknown(what: string, err: (text: string) => unknown): number {
  err(`facilitator: there is no ${inOneLine(what)}\n`)
  return 1
}

/** In hundredths of a percent. */
export function parseShare(text: string): number {
  const bps = readPercent(text.replace(/ ?%$/, ''))
  if (bps !== undefined) return bps
  throw new UsageError(`${JSON.stringify(text)} is not a percentage from 0 to 100, with two decimals at most`)
}

/** Bigints (ids, nonces, blocks) become numbers. Amounts are strings already. */
export const json = (value: unknown) =>
  `${JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? Number(member) : member), 2)}\n`
