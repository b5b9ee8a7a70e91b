import { families } from '@tollgate/chains'
import { parseOptions, UsageError } from '@tollgate/service'
import { canonicalAddress } from '../../networks/canonical-address'
import { userOf } from './account-commands'
import {
  assertCount,
  DEFAULT_LIMIT,
  json,
  MAX_ID,
  MAX_LIMIT,
  parseWholeNumber,
  reportUnknown,
  type Command,
  type Work,
} from './arguments'
import { DENIED_ADDRESSES_HELP, INVITATIONS_HELP, RECIPIENTS_HELP } from './cli-help'
import { columns, inOneLine, timeOf } from './format'

const DEFAULT_DAYS = 7
const MAX_DAYS = 366

/** A command that lists its rows as a table, or with --json under `name`. */
const listCommand =
  <T>(
    name: string,
    list: (stores: Parameters<Work>[0], page: { offset: number; limit: number }) => Promise<readonly T[]>,
    head: readonly string[],
    rowOf: (one: T) => readonly string[],
  ) =>
  (args: string[]): Work => {
    const { values, positionals } = parseOptions(args, {
      limit: { type: 'string' },
      json: { type: 'boolean' },
    })
    assertCount(positionals, 0, 'list takes no name')
    const limit = parseWholeNumber('--limit', values.limit ?? String(DEFAULT_LIMIT), {
      from: 1,
      to: MAX_LIMIT,
    })
    return async (stores, { out }) => {
      const found = await list(stores, { offset: 0, limit })
      out(values.json ? json({ [name]: found }) : columns([head, ...found.map(rowOf)]))
      return 0
    }
  }

/** A command that ends something by its id. */
const removeCommand =
  (what: string, remove: (stores: Parameters<Work>[0], id: number) => Promise<boolean>, result: string) =>
  (args: string[]): Work => {
    const { positionals } = parseOptions(args, {})
    const [text = ''] = assertCount(positionals, 1, `needs the id of one ${what}`)
    const id = parseWholeNumber('ID', text, { from: 1, to: MAX_ID })
    return async (stores, { out, err }) => {
      if (!(await remove(stores, id))) return reportUnknown(`${what} ${id}`, err)
      out(`${what} ${id}: ${result}\n`)
      return 0
    }
  }

function invite(args: string[]): Work {
  const { values, positionals } = parseOptions(args, { days: { type: 'string' }, email: { type: 'string' } })
  assertCount(positionals, 0, 'invitations create takes no name')
  const days = parseWholeNumber('--days', values.days ?? String(DEFAULT_DAYS), { from: 1, to: MAX_DAYS })
  const email = values.email?.toLowerCase() ?? null
  if (email !== null && !/^[^@\s]+@[^@\s]+$/.test(email)) throw new UsageError('--email needs an email')
  return async ({ accounts }, { out }) => {
    out(`${await accounts.invite(days, email)}\n`)
    return 0
  }
}

function reserve(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const words = assertCount(positionals, 3, 'recipients reserve needs a user, a network and an address')
  const [name = '', network = '', text = ''] = words
  const [user, address] = [userOf(name), addressOf(text)]
  return async ({ accounts, recipients, settlements }, { out, err }) => {
    const userId = await accounts.findActive(user)
    if (userId === undefined) return reportUnknown(`active user ${name}`, err)
    if (!(await settlements.hasNetwork(network)))
      return reportUnknown(`network ${network} with an asset`, err)
    const reserved = await recipients.reserve({ userId, network, address, proof: 'operator' })
    if (typeof reserved === 'string') {
      const problems = {
        taken: 'another user has reserved it',
        'too-many': 'the user has too many',
        'no-account': 'the user has deleted its account',
      }
      err(`facilitator: ${address} is not reserved: ${problems[reserved]}\n`)
      return 1
    }
    out(`${address}: on ${network} only client keys of user ${userId} settle payments to it\n`)
    return 0
  }
}

function addressOf(text: string): string {
  const address = canonicalAddress(families, text)
  if (address !== undefined) return address
  throw new UsageError(`${JSON.stringify(text)} is not an address`)
}

function deny(args: string[]): Work {
  const { values, positionals } = parseOptions(args, { note: { type: 'string' } })
  const [text = ''] = assertCount(positionals, 1, 'denied-addresses add needs one address')
  const address = addressOf(text)
  return async ({ deniedAddresses }, { out }) => {
    await deniedAddresses.add(address, values.note ?? null)
    out(`${address}: payments from or to it are refused from now on\n`)
    return 0
  }
}

function allow(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const [text = ''] = assertCount(positionals, 1, 'denied-addresses remove needs one address')
  const address = addressOf(text)
  return async ({ deniedAddresses }, { out, err }) => {
    if (!(await deniedAddresses.remove(address))) return reportUnknown(`denied address ${address}`, err)
    out(`${address}: payments from and to it are accepted again\n`)
    return 0
  }
}

const timeOrDash = (time: Date | null) => (time === null ? '-' : timeOf(time))
const command = (help: string, parse: Command['parse']): Command => ({ help, parse })

export const invitationCommands: Readonly<Record<string, Command>> = {
  create: command(INVITATIONS_HELP, invite),
  list: command(
    INVITATIONS_HELP,
    listCommand(
      'invitations',
      ({ invitations }, page) => invitations.list(page),
      ['ID', 'CREATED', 'EXPIRES', 'USED', 'EMAIL'],
      ({ id, createdAt, expiresAt, usedAt, email }) => [
        String(id),
        timeOf(createdAt),
        timeOrDash(expiresAt),
        timeOrDash(usedAt),
        inOneLine(email ?? 'any'),
      ],
    ),
  ),
  delete: command(
    INVITATIONS_HELP,
    removeCommand('unused invitation', ({ invitations }, id) => invitations.remove(id), 'deleted'),
  ),
}

export const recipientCommands: Readonly<Record<string, Command>> = {
  list: command(
    RECIPIENTS_HELP,
    listCommand(
      'recipients',
      ({ recipients }, page) => recipients.list(page),
      ['ID', 'USER', 'NETWORK', 'ADDRESS', 'PROOF', 'CREATED'],
      ({ id, userId, network, address, proof, createdAt }) => [
        String(id),
        String(userId),
        network,
        address,
        proof,
        timeOf(createdAt),
      ],
    ),
  ),
  reserve: command(RECIPIENTS_HELP, reserve),
  release: command(
    RECIPIENTS_HELP,
    removeCommand('reservation', ({ recipients }, id) => recipients.remove(id), 'released'),
  ),
}

export const deniedAddressCommands: Readonly<Record<string, Command>> = {
  list: command(
    DENIED_ADDRESSES_HELP,
    listCommand(
      'deniedAddresses',
      ({ deniedAddresses }, page) => deniedAddresses.list(page),
      ['ADDRESS', 'CREATED', 'NOTE'],
      ({ address, createdAt, note }) => [address, timeOf(createdAt), inOneLine(note ?? '')],
    ),
  ),
  add: command(DENIED_ADDRESSES_HELP, deny),
  remove: command(DENIED_ADDRESSES_HELP, allow),
}
