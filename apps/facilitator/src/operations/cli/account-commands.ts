import { parseOptions, UsageError } from '@tollgate/service'
import { percentOf } from '../../percent'
import { type AccountStore, type ListedUser, type UserName } from '../accounts/operator-account-store'
import {
  assertCount,
  DEFAULT_LIMIT,
  json,
  MAX_ID,
  MAX_LIMIT,
  parseShare,
  parseWholeNumber,
  reportUnknown,
  type Command,
  type Work,
} from './arguments'
import { CLIENTS_HELP, CREATE_CLIENT_HELP, USERS_HELP } from './cli-help'
import { createClient } from './create-client'
import { columns, inOneLine, timeOf } from './format'

function listUsers(args: string[]): Work {
  const { values, positionals } = parseOptions(args, { limit: { type: 'string' }, json: { type: 'boolean' } })
  assertCount(positionals, 0, 'users list takes no name')
  const limit = parseWholeNumber('--limit', values.limit ?? String(DEFAULT_LIMIT), { from: 1, to: MAX_LIMIT })
  return async ({ accounts }, { out }) => {
    const { users, total } = await accounts.list(limit)
    out(values.json ? json({ users, total }) : usersText(users, total))
    return 0
  }
}

function usersText(users: readonly ListedUser[], total: number): string {
  const rows = users.map((user) => [
    String(user.id),
    user.isDeleted ? 'deleted' : user.isDisabled ? 'disabled' : 'active',
    user.feeShareBps === null ? 'new' : percentOf(user.feeShareBps),
    String(user.liveKeys),
    timeOf(user.createdAt),
    inOneLine(user.email),
  ])
  const rest = total > users.length ? `and ${total - users.length} more; --limit ${total} shows all\n` : ''
  return columns([['ID', 'STATE', 'share', 'KEYS', 'CREATED', 'EMAIL'], ...rows]) + rest
}

const changeUser =
  (
    verb: string,
    change: (accounts: AccountStore, user: UserName) => Promise<string | undefined>,
    result: string,
  ) =>
  (args: string[]): Work => {
    const { positionals } = parseOptions(args, {})
    const [name = ''] = assertCount(positionals, 1, `users ${verb} needs one user: its id or email`)
    const user = userOf(name)
    return async ({ accounts }, { out, err }) => {
      const email = await change(accounts, user)
      if (email === undefined) return reportUnknown(`user ${name}`, err)
      out(`${inOneLine(email)}: ${result}\n`)
      return 0
    }
  }

function allowUser(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const [name = '', text = ''] = assertCount(positionals, 2, 'users allow needs a user and a percentage')
  const [user, bps] = [userOf(name), parseShare(text)]
  return async ({ accounts }, { out, err }) => {
    const email = await accounts.allow(user, bps)
    if (email === undefined) return reportUnknown(`user ${name}`, err)
    out(`${inOneLine(email)}: may cause ${percentOf(bps)} of each network's daily fees\n`)
    return 0
  }
}

function resetPassword(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const [name = ''] = assertCount(positionals, 1, 'users reset-password needs one user: its id or email')
  const user = userOf(name)
  return async ({ accounts }, { out, err }) => {
    const reset = await accounts.resetPassword(user)
    if (!reset) return reportUnknown(`active user ${name}`, err)
    out(`${reset.token}\n`)
    return 0
  }
}

function allowClient(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const [clientId = '', text = ''] = assertCount(
    positionals,
    2,
    'clients allow needs a client id and a percentage',
  )
  const bps = parseShare(text)
  return async ({ accounts }, { out, err }) => {
    if (!(await accounts.allowClient(clientId, bps))) return reportUnknown(`client key ${clientId}`, err)
    out(`${inOneLine(clientId)}: may cause ${percentOf(bps)} of each network's daily fees\n`)
    return 0
  }
}

function deleteClient(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const [clientId = ''] = assertCount(positionals, 1, 'clients delete needs a client id')
  return async ({ clientKeys }, { out, err }) => {
    if (!(await clientKeys.remove(clientId))) return reportUnknown(`client key ${clientId}`, err)
    out(`${inOneLine(clientId)}: deleted; it is rejected from now on\n`)
    return 0
  }
}

export function userOf(name: string): UserName {
  if (name.includes('@')) return { email: name.toLowerCase() }
  const id = /^[1-9][0-9]{0,9}$/.test(name) ? Number(name) : NaN
  if (id <= MAX_ID) return { id }
  throw new UsageError(`${JSON.stringify(name)} is neither a user id nor an email`)
}

const DISABLED = 'disabled; its logins, tokens and client keys are rejected from now on'
const ENABLED = 'enabled; its logins and client keys are accepted again'
const LOGGED_OUT = 'its sessions have ended; it logs in again'

const user = (parse: Command['parse']): Command => ({ help: USERS_HELP, parse })

export const userCommands: Readonly<Record<string, Command>> = {
  list: user(listUsers),
  allow: user(allowUser),
  disable: user(changeUser('disable', (accounts, name) => accounts.disable(name), DISABLED)),
  enable: user(changeUser('enable', (accounts, name) => accounts.enable(name), ENABLED)),
  'reset-password': user(resetPassword),
  'log-out': user(changeUser('log-out', (accounts, name) => accounts.endSessions(name), LOGGED_OUT)),
}

export const clientCommands: Readonly<Record<string, Command>> = {
  create: { help: CREATE_CLIENT_HELP, parse: createClient },
  allow: { help: CLIENTS_HELP, parse: allowClient },
  delete: { help: CLIENTS_HELP, parse: deleteClient },
}
