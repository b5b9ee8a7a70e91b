import { parseOptions, UsageError } from '@tollgate/service'
import { json, parseWholeNumber, type Command, type Work } from './arguments'
import { AUDIT_HELP, LIST_HELP, RETRY_HELP, SHOW_HELP } from './cli-help'
import { auditText } from '../settlements/audit-settlements'
import { NEXT_STEPS_RUNBOOK, nextStepOf } from '../settlements/next-step'
import { listText } from './list'
import { retryText } from './retry'
import { listedStates, type ListedState } from '../settlements/operator-settlement-store'
import { showText } from './show'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 100_000
const MAX_SECONDS = 9_999_999_999
const MAX_ID = 2n ** 63n - 1n
const MAX_RETRIES = 1_000
/** It reads whole tables. */
const AUDIT_TIMEOUT_MS = 3_600_000

function list(args: string[]): Work {
  const { values, positionals } = parseOptions(args, {
    network: { type: 'string' },
    state: { type: 'string' },
    'older-than': { type: 'string' },
    limit: { type: 'string' },
    json: { type: 'boolean' },
  })
  const [unexpected] = positionals
  if (unexpected !== undefined) throw new UsageError(`settlements list did not understand "${unexpected}"`)
  const { network, state, limit } = values
  const filter = {
    network,
    state: state === undefined ? undefined : stateOf(state),
    olderThanSeconds: parseWholeNumber('--older-than', values['older-than'] ?? '0', {
      from: 0,
      to: MAX_SECONDS,
    }),
    limit: parseWholeNumber('--limit', limit ?? String(DEFAULT_LIMIT), { from: 1, to: MAX_LIMIT }),
  }
  return async ({ settlements }, { out }) => {
    const { found, total } = await settlements.list(filter)
    out(values.json ? json({ settlements: found, total }) : listText(found, total, filter))
    return 0
  }
}

function show(args: string[]): Work {
  const { values, positionals } = parseOptions(args, { json: { type: 'boolean' } })
  const [id, ...more] = positionals.map(idOf)
  if (id === undefined || more.length > 0) throw new UsageError('settlements show needs one id')
  return async ({ settlements }, { out, err }) => {
    const found = await settlements.one(id)
    if (!found) {
      err(`facilitator: there is no settlement ${id}\n`)
      return 1
    }
    out(
      values.json
        ? json({ ...found, next: nextStepOf(found), runbook: NEXT_STEPS_RUNBOOK })
        : showText(found),
    )
    return 0
  }
}

function retry(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const ids = [...new Set(positionals.map(idOf))]
  if (ids.length === 0) throw new UsageError('settlements retry needs at least one id')
  if (ids.length > MAX_RETRIES) throw new UsageError(`settlements retry takes at most ${MAX_RETRIES} ids`)
  return async ({ settlements }, { out }) => {
    const retries = await settlements.retry(ids)
    out(retryText(retries))
    return retries.every(({ isRetried }) => isRetried) ? 0 : 1
  }
}

function audit(args: string[]): Work {
  const { positionals } = parseOptions(args, {})
  const [unexpected] = positionals
  if (unexpected !== undefined) throw new UsageError(`settlements audit did not understand "${unexpected}"`)
  return async ({ settlements }, { out }) => {
    const report = await settlements.audit()
    out(auditText(report))
    return report.violationCount === 0 ? 0 : 1
  }
}

function stateOf(word: string): ListedState {
  const state = listedStates.find((one) => one === word)
  if (state) return state
  throw new UsageError(`--state is one of ${listedStates.join(', ')}`)
}

function idOf(text: string): bigint {
  const id = /^[1-9][0-9]{0,18}$/.test(text) ? BigInt(text) : 0n
  if (id > 0n && id <= MAX_ID) return id
  throw new UsageError(`${JSON.stringify(text)} is not a settlement id; use a whole number`)
}

export const settlementCommands: Readonly<Record<string, Command>> = {
  list: { help: LIST_HELP, parse: list },
  show: { help: SHOW_HELP, parse: show },
  retry: { help: RETRY_HELP, parse: retry },
  audit: { help: AUDIT_HELP, parse: audit, statementTimeoutMs: AUDIT_TIMEOUT_MS },
}
