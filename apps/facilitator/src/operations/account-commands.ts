import { percentOf } from '../percent'
import { type AccountStore, type ListedUser, type UserName } from './accounts'
import { json, parse, share, UsageError, wholeNumber, type Command, type Work } from './arguments'
import { CLIENTS_HELP, INVITATIONS_HELP, USERS_HELP } from './cli-help'
import { columns, inOneLine, timeOf } from './words'

const DEFAULT_LIMIT = 100
const LARGEST_LIMIT = 100_000
const LARGEST_ID = 2 ** 31 - 1
const DEFAULT_DAYS = 7
const MOST_DAYS = 366

function listUsers(args: string[]): Work {
  const { values, positionals } = parse(args, { limit: { type: 'string' }, json: { type: 'boolean' } })
  mustHave(positionals, 0, 'users list takes no name')
  const limit = wholeNumber('--limit', values.limit ?? String(DEFAULT_LIMIT), { from: 1, to: LARGEST_LIMIT })
  return async ({ accounts }, { out }) => {
    const { users, total } = await accounts.list(limit)
    out(values.json ? json({ users, total }) : usersText(users, total))
    return 0
  }
}

function usersText(users: readonly ListedUser[], total: number): string {
  const rows = users.map((user) => [
    String(user.id),
    user.isDisabled ? 'disabled' : 'active',
    user.feeShareBps === null ? 'new' : percentOf(user.feeShareBps),
    String(user.liveKeys),
    timeOf(user.createdAt),
    inOneLine(user.email),
  ])
  const rest = total > users.length ? `and ${total - users.length} more; --limit ${total} shows all\n` : ''
  return columns([['ID', 'STATE', 'SHARE', 'KEYS', 'CREATED', 'EMAIL'], ...rows]) + rest
}

/** A command that changes one user, and says what holds from then on. */
const changeUser =
  (
    verb: string,
    change: (accounts: AccountStore, user: UserName) => Promise<string | undefined>,
    holds: string,
  ) =>
  (args: string[]): Work => {
    const { positionals } = parse(args, {})
    const [name = ''] = mustHave(positionals, 1, `users ${verb} wants one user: its id or email`)
    const user = userOf(name)
    return async ({ accounts }, { out, err }) => {
      const email = await change(accounts, user)
      if (email === undefined) return noSuch(`user ${name}`, err)
      out(`${inOneLine(email)}: ${holds}\n`)
      return 0
    }
  }

function allowUser(args: string[]): Work {
  const { positionals } = parse(args, {})
  const [name = '', text = ''] = mustHave(positionals, 2, 'users allow wants a user and a percentage')
  const [user, bps] = [userOf(name), share(text)]
  return async ({ accounts }, { out, err }) => {
    const email = await accounts.allow(user, bps)
    if (email === undefined) return noSuch(`user ${name}`, err)
    out(`${inOneLine(email)}: may cause ${percentOf(bps)} of each network's daily fees\n`)
    return 0
  }
}

function allowClient(args: string[]): Work {
  const { positionals } = parse(args, {})
  const [clientId = '', text = ''] = mustHave(
    positionals,
    2,
    'clients allow wants a client id and a percentage',
  )
  const bps = share(text)
  return async ({ accounts }, { out, err }) => {
    if (!(await accounts.allowClient(clientId, bps))) return noSuch(`client key ${clientId}`, err)
    out(`${inOneLine(clientId)}: may cause ${percentOf(bps)} of each network's daily fees\n`)
    return 0
  }
}

function invite(args: string[]): Work {
  const { values, positionals } = parse(args, { days: { type: 'string' } })
  mustHave(positionals, 0, 'invitations create takes no name')
  const days = wholeNumber('--days', values.days ?? String(DEFAULT_DAYS), { from: 1, to: MOST_DAYS })
  return async ({ accounts }, { out }) => {
    out(`${await accounts.invite(days)}\n`)
    return 0
  }
}

function mustHave(positionals: string[], count: number, problem: string): string[] {
  if (positionals.length !== count) throw new UsageError(problem)
  return positionals
}

function userOf(name: string): UserName {
  if (name.includes('@')) return { email: name.toLowerCase() }
  const id = /^[1-9][0-9]{0,9}$/.test(name) ? Number(name) : NaN
  if (id <= LARGEST_ID) return { id }
  throw new UsageError(`${JSON.stringify(name)} is neither the id of a user nor an email`)
}

function noSuch(what: string, err: (text: string) => unknown): number {
  err(`facilitator: there is no ${inOneLine(what)}\n`)
  return 1
}

const DISABLED = 'disabled; it cannot log in, and its tokens and client keys are dead from now on'
const ENABLED = 'enabled; its client keys are good again, and it may log in'
const LOGGED_OUT = 'its refresh tokens are revoked; an access token that it has lasts 15 minutes at most'

const user = (understand: Command['understand']): Command => ({ help: USERS_HELP, understand })

export const userCommands: Readonly<Record<string, Command>> = {
  list: user(listUsers),
  allow: user(allowUser),
  disable: user(changeUser('disable', (accounts, name) => accounts.disable(name), DISABLED)),
  enable: user(changeUser('enable', (accounts, name) => accounts.enable(name), ENABLED)),
  'log-out': user(changeUser('log-out', (accounts, name) => accounts.revokeRefreshTokens(name), LOGGED_OUT)),
}
export const clientCommands: Readonly<Record<string, Command>> = {
  allow: { help: CLIENTS_HELP, understand: allowClient },
}
export const invitationCommands: Readonly<Record<string, Command>> = {
  create: { help: INVITATIONS_HELP, understand: invite },
}
