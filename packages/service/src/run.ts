import { ConfigurationError } from './config'
import { createLogger, flushed, type Logger } from './logger'

/** The code of sysexits.h for a configuration that must be changed first: starting again by itself will not help. */
const EXIT_CONFIGURATION = 78

/** What a starting service has opened so far. */
export type Closing = {
  /** To be closed when the service stops: what was opened last is closed first. Write it beside the line that opened it. */
  add: (name: string, close: () => unknown) => void
  /** Aborted when the service is to stop: for waits of the start that would outlast it. */
  readonly signal: AbortSignal
}

/**
 * Runs a service: `start` opens its parts, and resolves once it serves.
 *
 * SIGTERM or SIGINT closes what was opened, last first, within `graceSeconds`, and exits with 0, or with 1 if it took
 * longer; a second signal exits at once. A start that fails exits with 1, or with 78 where the configuration is at fault;
 * so does an error that nobody caught, with 1. Each is told in the log first.
 */
export async function run(
  name: string,
  start: (closing: Closing) => Promise<void>,
  options: { logger?: Logger; graceSeconds?: number } = {},
): Promise<void> {
  const { logger = createLogger({ service: name, level: 'info' }), graceSeconds = 25 } = options
  const opened: { name: string; close: () => unknown }[] = []
  const stopped = new AbortController()

  async function exit(code: number): Promise<never> {
    await Promise.all([flushed(process.stdout), flushed(process.stderr)])
    process.exit(code)
  }

  /** Closes what was opened, last first, and exits: with `code`, or with 1 if that takes too long. */
  async function closeAndExit(code: number) {
    const tooLate = setTimeout(() => {
      logger.error('did not stop in time', { graceSeconds })
      void exit(1)
    }, graceSeconds * 1000)
    for (let part = opened.pop(); part !== undefined; part = opened.pop()) {
      try {
        await part.close()
        logger.info('closed', { part: part.name })
      } catch (error) {
        logger.error('could not close', { part: part.name, error })
      }
    }
    clearTimeout(tooLate)
    logger.info('stopped')
    await exit(code)
  }

  async function stop(signal: NodeJS.Signals) {
    if (stopped.signal.aborted) return exit(1)
    stopped.abort()
    logger.info('stopping', { signal })
    return closeAndExit(0)
  }

  async function fail(message: string, error: unknown) {
    logger.error(message, { error })
    return exit(1)
  }
  process.on('SIGTERM', (signal) => void stop(signal))
  process.on('SIGINT', (signal) => void stop(signal))
  process.on('uncaughtException', (error) => void fail('an error was not caught', error))
  process.on('unhandledRejection', (error) => void fail('a rejection was not handled', error))
  // Whoever read our log is gone; that is no reason to stop.
  process.stdout.on('error', () => undefined)

  try {
    await start({ add: (part, close) => void opened.push({ name: part, close }), signal: stopped.signal })
    logger.info('started')
  } catch (error) {
    if (stopped.signal.aborted) return
    const isConfiguration = error instanceof ConfigurationError
    if (isConfiguration) process.stderr.write(`${name}: ${error.message}\n`)
    logger.error('cannot start', isConfiguration ? { problems: error.problems } : { error })
    await closeAndExit(isConfiguration ? EXIT_CONFIGURATION : 1)
  }
}
