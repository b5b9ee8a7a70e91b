import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { withTimeout } from '@tollgate/protocol'
import winston from 'winston'
import { redactField } from './redact'
import { activeTraceId } from './tracing/span'

export type Logger = winston.Logger

/**
 * A logger of JSON lines, `{ time, level, service, message, ...fields }`, that masks secrets (see redact.ts) and never throws.
 * Lines are written in batches, up to FLUSH_AFTER_MS later, to a given stream within a turn of the event loop: see
 * {@link flushed}.
 */
export function createLogger(options: {
  service: string
  level: string
  stream?: NodeJS.WritableStream
}): Logger {
  const { service, level, stream } = options
  const batch = stream ? batchOf(stream, 0) : batchOf(process.stdout, FLUSH_AFTER_MS)
  const logger = winston.createLogger({
    level,
    format: jsonLine({ service }),
    transports: [new winston.transports.Stream({ stream: writableOf(batch), eol: '\n' })],
  })
  if (logger.isInfoEnabled()) requestLines.set(logger, (facts) => batch.add(requestLine(service, facts)))
  return logger
}

/** What a request's log line says. `path` comes from the client as it is; `requestId` is short and of safe characters. */
export type RequestFacts = {
  method: string
  path: string
  status: number
  durationMs: number
  requestId: string
  code: unknown
  aborted: true | undefined
  /** Of a sampled trace. */
  traceId: string | undefined
}

const requestLines = new WeakMap<Logger, (facts: RequestFacts) => void>()

/** Writes the line of a request as `logger.info` would. Winston's streams would take a tenth of the time of a paid call. */
export function logRequest(logger: Logger, facts: RequestFacts): void {
  requestLines.get(logger)?.(facts)
}

function requestLine(service: string, facts: RequestFacts): string {
  const { method, path, status, durationMs, requestId, code, aborted, traceId } = facts
  return `${JSON.stringify({
    time: new Date().toISOString(),
    level: 'info',
    service,
    message: 'request',
    method,
    path: redactField('path', path),
    status,
    durationMs,
    requestId,
    code,
    aborted,
    traceId,
  })}\n`
}

const FLUSH_TIMEOUT_MS = 1_000

/** Resolves once all lines are written, or after FLUSH_TIMEOUT_MS. Call it before the process exits. */
export async function flushed(stream: NodeJS.WritableStream = process.stdout): Promise<void> {
  // Winston passes a line on within two turns of the event loop.
  await nextTurn()
  await nextTurn()
  batches.get(stream)?.flush()
  const written = new Promise<void>((resolve) => void stream.write('', () => resolve()))
  await withTimeout(written, FLUSH_TIMEOUT_MS, () => undefined)
}

/** The property that winston's transports write. */
const LINE = Symbol.for('message')

const jsonLine = winston.format((info, options) => {
  const { service } = options as { service: string }
  const traceId = activeTraceId()
  const line: Record<string, unknown> = {
    time: new Date().toISOString(),
    level: info.level,
    service,
    message: redactField('message', info.message),
    ...(traceId === undefined || 'traceId' in info ? {} : { traceId }),
  }
  try {
    for (const name of Object.keys(info)) if (!(name in line)) line[name] = redactField(name, info[name])
    info[LINE] = JSON.stringify(line)
  } catch {
    info[LINE] = JSON.stringify({ ...line, unreadable: 'the fields of this line could not be read' })
  }
  return info
})

/** A batch is written once it is this old or this long: a system call for each line would dominate the cost of logging. */
const FLUSH_AFTER_MS = 10
const FLUSH_AT_LENGTH = 65_536

type Batch = ReturnType<typeof createBatch>

const batches = new WeakMap<NodeJS.WritableStream, Batch>()

/** One for each stream, so that the lines of several loggers stay in order. */
function batchOf(stream: NodeJS.WritableStream, flushAfterMs: number): Batch {
  const batch = batches.get(stream) ?? createBatch(stream, flushAfterMs)
  batches.set(stream, batch)
  return batch
}

function createBatch(stream: NodeJS.WritableStream, flushAfterMs: number) {
  let pending = ''
  const flush = () => {
    const lines = pending
    pending = ''
    if (lines !== '') stream.write(lines)
  }
  const flushLater = () => void (flushAfterMs > 0 ? setTimeout(flush, flushAfterMs) : setImmediate(flush))
  return {
    flush,
    add(line: string) {
      if (pending === '') flushLater()
      pending += line
      if (pending.length >= FLUSH_AT_LENGTH) flush()
    },
  }
}

const writableOf = (batch: Batch) =>
  new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      batch.add(line)
      done()
    },
  })
