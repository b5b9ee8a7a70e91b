import { Writable } from 'node:stream'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { withTimeout } from '@tollgate/protocol'
import winston from 'winston'
import { redactField } from './redact'

export type Logger = winston.Logger

/**
 * A logger of JSON lines, `{ time, level, service, message, ...fields }`, that masks secrets (see redact.ts) and never throws.
 * Lines are written in batches, one turn of the event loop later: see {@link flushed}.
 */
export function createLogger(options: {
  service: string
  level: string
  stream?: NodeJS.WritableStream
}): Logger {
  const { service, level, stream = process.stdout } = options
  return winston.createLogger({
    level,
    format: jsonLine({ service }),
    transports: [new winston.transports.Stream({ stream: inBatches(stream), eol: '\n' })],
  })
}

const FLUSH_TIMEOUT_MS = 1_000

/** Resolves once all lines are written, or after FLUSH_TIMEOUT_MS. Call it before the process exits. */
export async function flushed(stream: NodeJS.WritableStream = process.stdout): Promise<void> {
  await nextTurn()
  await nextTurn()
  const written = new Promise<void>((resolve) => void stream.write('', () => resolve()))
  await withTimeout(written, FLUSH_TIMEOUT_MS, () => undefined)
}

/** The property that winston's transports write. */
const LINE = Symbol.for('message')

const jsonLine = winston.format((info, options) => {
  const { service } = options as { service: string }
  const line: Record<string, unknown> = {
    time: new Date().toISOString(),
    level: info.level,
    service,
    message: redactField('message', info.message),
  }
  try {
    for (const name of Object.keys(info)) if (!(name in line)) line[name] = redactField(name, info[name])
    info[LINE] = JSON.stringify(line)
  } catch {
    info[LINE] = JSON.stringify({ ...line, unreadable: 'the fields of this line could not be read' })
  }
  return info
})

/**
 * Batches the lines of one turn of the event loop: a system call for each line would dominate the cost of
 * logging.
 */
function inBatches(stream: NodeJS.WritableStream) {
  let pending = ''
  const flush = () => {
    const lines = pending
    pending = ''
    stream.write(lines)
  }
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      if (pending === '') setImmediate(flush)
      pending += line
      done()
    },
  })
}
