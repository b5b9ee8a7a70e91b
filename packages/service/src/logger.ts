import { Writable } from 'node:stream'
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises'
import winston from 'winston'
import { maskedField } from './mask'

export type Logger = winston.Logger

/**
 * A logger of JSON lines, `{ time, level, service, message, ...fields }`. A line is an event and its facts:
 * `logger.info('payment settled', { wallet, transaction })`; an error goes in as a field and comes out with its causes.
 * Fields named like a secret are masked, and so are bearer tokens, JWTs and credentials in addresses wherever they
 * stand. A field that cannot be read costs its line the fields, not the caller an error. Lines are written in batches, a turn of the event loop later: see {@link flushed}.
 */
export function createLogger(options: {
  service: string
  /** `error`, `warn`, `info` or `debug` */
  level: string
  /** stdout, unless told otherwise */
  stream?: NodeJS.WritableStream
}): Logger {
  const { service, level, stream = process.stdout } = options
  return winston.createLogger({
    level,
    format: jsonLine({ service }),
    // eslint-disable-next-line @typescript-eslint/no-unsafe-class-instance-assignment -- winston declares its transports as interfaces
    transports: [new winston.transports.Stream({ stream: inBatches(stream), eol: '\n' })],
  })
}

const FLUSH_TIMEOUT_MS = 1_000

/**
 * Resolves when the lines logged before it were written, or a second later where nobody takes them: for those who are
 * about to exit, since a pipe does not outlive its process.
 */
export async function flushed(stream: NodeJS.WritableStream = process.stdout): Promise<void> {
  await nextTurn()
  await nextTurn()
  const tooLate = new AbortController()
  const written = new Promise<void>((resolve) => void stream.write('', () => resolve()))
  const timeout = delay(FLUSH_TIMEOUT_MS, undefined, { signal: tooLate.signal }).catch(() => undefined)
  await Promise.race([written, timeout])
  tooLate.abort()
}

/** Where winston's transports look for the finished line. */
const LINE = Symbol.for('message')

const jsonLine = winston.format((info, options) => {
  const { service } = options as { service: string }
  const line: Record<string, unknown> = {
    time: new Date().toISOString(),
    level: info.level,
    service,
    message: maskedField('message', info.message),
  }
  try {
    for (const name of Object.keys(info)) if (!(name in line)) line[name] = maskedField(name, info[name])
    info[LINE] = JSON.stringify(line)
  } catch {
    info[LINE] = JSON.stringify({ ...line, unreadable: 'the fields of this line could not be read' })
  }
  return info
})

/** One write for all the lines of one turn: a system call for each would cost more than all else about it. */
function inBatches(stream: NodeJS.WritableStream) {
  let waiting = ''
  const flush = () => {
    const lines = waiting
    waiting = ''
    stream.write(lines)
  }
  return new Writable({
    decodeStrings: false,
    write(line: string, _encoding, done) {
      if (waiting === '') setImmediate(flush)
      waiting += line
      done()
    },
  })
}
