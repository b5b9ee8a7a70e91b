import { json, parse, UsageError, wholeNumber, type Command, type Work } from './arguments'
import { LIST_HELP, RETRY_HELP, SHOW_HELP } from './cli-help'
import { expectationOf } from './expectation'
import { listText } from './list'
import { retryText } from './retry'
import { listedStates, type ListedState } from './settlements'
import { showText } from './show'

const DEFAULT_LIMIT = 100
const LARGEST_LIMIT = 100_000
/** Of ten digits: some three hundred years. */
const LONGEST_SECONDS = 9_999_999_999
const LARGEST_ID = 2n ** 63n - 1n
const RETRIES_AT_ONCE = 1_000

function list(args: string[]): Work {
  const { values, positionals } = parse(args, {
    network: { type: 'string' },
    state: { type: 'string' },
    'older-than': { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [stranger] = positionals
  if (stranger !== undefined) throw new UsageError(`settlements list did not understand "${stranger}"`)
  const { network, state, limit } = values
  const filter = {
    network,
    state: state === undefined ? undefined : stateOf(state),
    olderThanSeconds: wholeNumber('--older-than', values['older-than'] ?? '0', {
      from: 0,
      to: LONGEST_SECONDS,
    }),
    limit: wholeNumber('--limit', limit ?? String(DEFAULT_LIMIT), { from: 1, to: LARGEST_LIMIT }),
  }
  return async ({ settlements }, { out }) => {
    const { found, total } = await settlements.list(filter)
    out(values.json ? json({ settlements: found, total }) : listText(found, total, filter))
    return 0
  }
}

function show(args: string[]): Work {
  const { values, positionals } = parse(args, { json: { type: 'boolean' } })
  const [id, ...more] = positionals.map(idOf)
  if (id === undefined || more.length > 0) throw new UsageError('settlements show wants one id')
  return async ({ settlements }, { out, err }) => {
    const found = await settlements.one(id)
    if (!found) {
      err(`facilitator: there is no settlement ${id}\n`)
      return 1
    }
    out(values.json ? json({ ...found, next: expectationOf(found) }) : showText(found))
    return 0
  }
}

function retry(args: string[]): Work {
  const { positionals } = parse(args, {})
  const ids = [...new Set(positionals.map(idOf))]
  if (ids.length === 0) throw new UsageError('settlements retry wants at least one id')
  if (ids.length > RETRIES_AT_ONCE)
    throw new UsageError(`settlements retry takes ${RETRIES_AT_ONCE} ids at once`)
  return async ({ settlements }, { out }) => {
    const retries = await settlements.retry(ids)
    out(retryText(retries))
    return retries.every(({ isRetried }) => isRetried) ? 0 : 1
  }
}

function stateOf(word: string): ListedState {
  const state = listedStates.find((one) => one === word)
  if (state) return state
  throw new UsageError(`--state is one of ${listedStates.join(', ')}; nothing else that is over is listed`)
}

function idOf(text: string): bigint {
  const id = /^[1-9][0-9]{0,18}$/.test(text) ? BigInt(text) : 0n
  if (id > 0n && id <= LARGEST_ID) return id
  throw new UsageError(`${JSON.stringify(text)} is not the id of a settlement; those are whole numbers`)
}

export const settlementCommands: Readonly<Record<string, Command>> = {
  list: { help: LIST_HELP, understand: list },
  show: { help: SHOW_HELP, understand: show },
  retry: { help: RETRY_HELP, understand: retry },
}
