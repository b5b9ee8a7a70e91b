import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { type Limits, type Tollgate } from '@tollgate/wallet'
import { once } from 'node:events'
import { setTimeout } from 'node:timers/promises'
import { parseAssets } from '../assets/known-assets'
import { UsageError } from '../exit-codes'
import { toJson } from '../output/printable'
import { createAmountFormat, findMissingLimit } from './amounts'
import { isLoopback, parseListen, type Listen } from './http/access'
import { startHttpServer } from './http/http-server'
import { guardFetch } from './outbound-guard'
import { journalPayments, openLogFile } from './payment-journal'
import { type PaymentEntry } from './payment-entry'
import { createSessionFactory, type CreateSession } from './server'

export type McpOptions = {
  maxPayment?: string
  maxDay?: string
  asset?: string[]
  http?: string
  log?: string
  allowPrivate?: boolean
}

type Opened = {
  tollgate: Tollgate
  limits: Limits | undefined
  /** Nodes that the user has chosen, which may be on a private network as the gateway may. */
  trustedUrls?: readonly string[]
}
export type OpenClient<Options extends McpOptions = McpOptions> = (options: Options) => Promise<Opened>

const MIN_TOKEN_CHARACTERS = 16
/** Then a request that does not end keeps the process no longer. */
const CLOSE_TIMEOUT_MS = 2_000
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP']

type Parts<Options extends McpOptions> = {
  options: Options
  openClient: OpenClient<Options>
  environment: NodeJS.ProcessEnv
  version: string
}

/** Serves until the client closes its connection, or a signal ends the process. Standard output has protocol messages only. */
export async function runMcp<Options extends McpOptions>(parts: Parts<Options>): Promise<void> {
  const stopped = Promise.race(SIGNALS.map((signal) => once(process, signal))).then(() => undefined)
  const server = await Promise.race([startServer(parts), stopped])
  if (!server) return
  await Promise.race([server.ended, stopped])
  await Promise.race([server.close(), setTimeout(CLOSE_TIMEOUT_MS)])
}

async function startServer<Options extends McpOptions>({
  options,
  openClient,
  environment,
  version,
}: Parts<Options>): Promise<Pick<Front, 'ended' | 'close'>> {
  const listen = checkOptions(options, environment)
  const file = options.log === undefined ? undefined : openLog(options.log)
  const { tollgate, limits, trustedUrls = [] } = await openClient(options)
  const missing = findMissingLimit(limits)
  if (missing !== undefined || !limits) throw new UsageError(needsLimits(missing ?? 'no limits are set'))
  const guard = await guardFetch({
    trustedUrls: [tollgate.url, ...trustedUrls],
    isPrivateAllowed: options.allowPrivate === true,
  })

  const sinks: ((entry: PaymentEntry) => void)[] = [
    (entry) => printLine(toJson(entry)),
    (entry) => file && attempt(() => file.append(toJson(entry))),
  ]
  const known = parseAssets(options.asset ?? [])
  journalPayments(tollgate, sinks, { now: () => new Date(), format: createAmountFormat(known) })
  const createSession = createSessionFactory({ tollgate, limits, known, version, report })
  const front = listen
    ? await serveHttp({ listen, token: environment['TOLLGATE_MCP_TOKEN'], createSession })
    : await serveStdio(createSession)
  sinks.push(front.notify)

  return {
    ended: front.ended,
    async close() {
      tollgate.close()
      await front.close()
      await guard.close()
      file?.close()
    },
  }
}

function checkOptions(
  { maxPayment, maxDay, http }: McpOptions,
  environment: NodeJS.ProcessEnv,
): Listen | undefined {
  const absent = [
    ...(maxPayment === undefined ? ['--max-payment'] : []),
    ...(maxDay === undefined ? ['--max-day'] : []),
  ]
  if (absent.length > 0)
    throw new UsageError(needsLimits(`${absent.join(' and ')} ${absent.length === 1 ? 'is' : 'are'} missing`))
  if (http === undefined) return undefined
  const listen = parseListen(http)
  if (!listen) throw new UsageError('--http takes [HOST:]PORT, such as 8765 or 127.0.0.1:8765')
  const token = environment['TOLLGATE_MCP_TOKEN']
  if (token !== undefined && token.length < MIN_TOKEN_CHARACTERS)
    throw new UsageError(`TOLLGATE_MCP_TOKEN must have at least ${MIN_TOKEN_CHARACTERS} characters`)
  if (token === undefined && !isLoopback(listen))
    throw new UsageError(
      `${listen.host} can be reached by others, who could spend from the wallet: set TOLLGATE_MCP_TOKEN, the bearer token of the clients`,
    )
  return listen
}

const needsLimits = (reason: string) =>
  `An agent pays only within limits, and ${reason}. Give --max-payment, the most for one payment, and --max-day, the most for a day, such as --max-payment "0.05 USDC" --max-day "1 USDC"`

function openLog(path: string) {
  try {
    return openLogFile(path)
  } catch (cause) {
    const reason = cause instanceof Error && 'code' in cause ? String(cause.code) : 'unknown'
    throw new UsageError(`--log: the file cannot be opened for writing (${reason})`, { cause })
  }
}

type Front = { ended: Promise<unknown>; notify(entry: PaymentEntry): void; close(): Promise<void> }

async function serveStdio(createSession: CreateSession): Promise<Front> {
  const { server, notify } = createSession()
  const ended = Promise.race([
    new Promise<void>((resolve) => (server.server.onclose = resolve)),
    once(process.stdin, 'end'),
    once(process.stdin, 'close'),
  ])
  // A client that went away does not read; what is written to it is lost, and its standard input ends.
  process.stdout.on('error', () => undefined)
  await server.connect(new StdioServerTransport())
  return {
    ended,
    notify,
    async close() {
      await server.close()
      process.stdin.destroy()
    },
  }
}

async function serveHttp(parts: {
  listen: Listen
  token: string | undefined
  createSession: CreateSession
}): Promise<Front> {
  const { url, notify, close } = await startHttpServer(parts).catch((cause: unknown) => {
    throw new UsageError(`--http: ${problemOf(cause)}`, { cause })
  })
  printLine(toJson({ time: new Date().toISOString(), event: 'listening', url }))
  return { ended: new Promise(() => undefined), notify, close }
}

const listenProblems: Record<string, string> = {
  EADDRINUSE: 'another program listens on this port',
  EACCES: 'this user may not listen on this port',
  EADDRNOTAVAIL: 'the host is no address of this machine',
}

function problemOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
  return listenProblems[code] ?? `cannot listen (${code})`
}

/** Standard error may be closed before the process ends. */
function printLine(line: string): void {
  attempt(() => process.stderr.write(`${line}\n`))
}

function report(unexpected: unknown): void {
  const error = unexpected instanceof Error ? unexpected.name : typeof unexpected
  const at =
    unexpected instanceof Error ? (unexpected.stack ?? '').split('\n').slice(1, 4).join(' ').trim() : ''
  printLine(toJson({ time: new Date().toISOString(), event: 'tool failed', error, at }))
}

function attempt(write: () => unknown): void {
  try {
    write()
  } catch {
    process.exitCode = 1
  }
}
