import { DatabaseError, DatabaseProblem, openFacilitatorDatabase, waitForDatabase } from '@tollgate/database'
import { parseArgs, type ParseArgsConfig } from 'node:util'
import { HELP, VERB_HELP } from './cli-help'
import { expectationOf } from './expectation'
import { listText } from './list'
import { retryText } from './retry'
import { createOperatorStore, listedStates, type ListedState, type OperatorStore } from './settlements'
import { showText } from './show'

type Io = { environment: NodeJS.ProcessEnv; out: (text: string) => unknown; err: (text: string) => unknown }

class UsageError extends Error {}

/** As sysexits.h has it: the configuration must be changed first. */
const EXIT_CONFIGURATION = 78
const DEFAULT_LIMIT = 100
const LARGEST_LIMIT = 100_000
/** Of ten digits: some three hundred years. */
const LONGEST_SECONDS = 9_999_999_999
const LARGEST_ID = 2n ** 63n - 1n
const RETRIES_AT_ONCE = 1_000

/** What is to be done with the database, once the words are understood. Resolves to the exit code. */
type Work = (store: OperatorStore, io: Io) => Promise<number>

const verbs = { list, show, retry }
type Verb = keyof typeof verbs

/** @returns the exit code: 0 done, 1 refused or failed, 2 not understood, 78 not configured */
export async function main(args: string[], io: Io): Promise<number> {
  const verb = args[0] === 'settlements' && isVerb(args[1]) ? args[1] : undefined
  const help = verb ? VERB_HELP[verb] : HELP
  try {
    if (args.some((word) => word === '--help' || word === '-h')) return say(help, io)
    const work = understand(args, verb)
    const url = io.environment['DATABASE_URL']
    if (url) return await withDatabase(url, io, work)
    io.err('facilitator: DATABASE_URL is not set; it names the facilitator’s Postgres\n')
    return EXIT_CONFIGURATION
  } catch (error) {
    io.err(`facilitator: ${reasonOf(error)}\n`)
    if (!(error instanceof UsageError)) return 1
    io.err(`\n${help}`)
    return 2
  }
}

const isVerb = (word: string | undefined): word is Verb => word !== undefined && Object.hasOwn(verbs, word)

function say(text: string, { out }: Io): number {
  out(text)
  return 0
}

function understand([area, word, ...args]: string[], verb: Verb | undefined): Work {
  if (area === undefined) throw new UsageError('what is to be done was not said')
  if (area !== 'settlements') throw new UsageError(`there is no command "${area}"`)
  if (verb) return verbs[verb](args)
  throw new UsageError(word === undefined ? 'settlements what?' : `there is no "settlements ${word}"`)
}

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
  return async (store, { out }) => {
    const { found, total } = await store.list(filter)
    out(values.json ? json({ settlements: found, total }) : listText(found, total, filter))
    return 0
  }
}

function show(args: string[]): Work {
  const { values, positionals } = parse(args, { json: { type: 'boolean' } })
  const [id, ...more] = positionals.map(idOf)
  if (id === undefined || more.length > 0) throw new UsageError('settlements show wants one id')
  return async (store, { out, err }) => {
    const found = await store.one(id)
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
  return async (store, { out }) => {
    const retries = await store.retry(ids)
    out(retryText(retries))
    return retries.every(({ isRetried }) => isRetried) ? 0 : 1
  }
}

function parse<Options extends NonNullable<ParseArgsConfig['options']>>(args: string[], options: Options) {
  try {
    return parseArgs({ args, allowPositionals: true, options })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

function stateOf(word: string): ListedState {
  const state = listedStates.find((one) => one === word)
  if (state) return state
  throw new UsageError(`--state is one of ${listedStates.join(', ')}; nothing else that is over is listed`)
}

function wholeNumber(option: string, text: string, { from, to }: { from: number; to: number }): number {
  const number = /^[0-9]{1,10}$/.test(text) ? Number(text) : NaN
  if (number >= from && number <= to) return number
  throw new UsageError(`${option} wants a whole number from ${from} to ${to}`)
}

function idOf(text: string): bigint {
  const id = /^[1-9][0-9]{0,18}$/.test(text) ? BigInt(text) : 0n
  if (id > 0n && id <= LARGEST_ID) return id
  throw new UsageError(`${JSON.stringify(text)} is not the id of a settlement; those are whole numbers`)
}

/** Ids, nonces and blocks are numbers; money is digits in a string already. */
const json = (value: unknown) =>
  `${JSON.stringify(value, (_, member: unknown) => (typeof member === 'bigint' ? Number(member) : member), 2)}\n`

async function withDatabase(url: string, io: Io, work: Work): Promise<number> {
  await waitForDatabase(url, { onRetry: (_attempt, reason) => io.err(`${reason}; trying again\n`) })
  const database = openFacilitatorDatabase({ url, poolSize: 1 })
  try {
    return await work(createOperatorStore(database.pool), io)
  } finally {
    await database.close()
  }
}

/** What went wrong, for whoever runs this: no stack, and no address with a password in it. */
function reasonOf(error: unknown): string {
  if (error instanceof UsageError || error instanceof DatabaseProblem) return error.message
  const code = error instanceof DatabaseError ? error.code : undefined
  if (code === '42P01' || code === '42703')
    return 'the database lacks tables or columns of this version; run its migrations first: tollgate-database migrate facilitator'
  if (code === '57014' || code === '55P03')
    return 'the database did not answer in time, or a settlement is held by a facilitator that is at work on it; nothing was changed, so try again'
  const message = error instanceof Error ? error.message : String(error)
  return `failed, and nothing was changed: ${message.trim().split('\n').at(-1) ?? ''}`
}

/** The process: `bin/facilitator.js`. */
export async function run(): Promise<void> {
  // A reader such as `head` that has seen enough is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  process.exitCode = await main(process.argv.slice(2), {
    environment: process.env,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
  })
}
