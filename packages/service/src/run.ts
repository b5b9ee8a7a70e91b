import { ConfigurationError } from './config'
import { createLogger, flushed, type Logger } from './logger'

/** EX_CONFIG of sysexits.h: a restart does not help until the configuration is changed. */
export const EXIT_CONFIGURATION = 78

export type Closing = {
  /** Parts are closed in reverse order. Call it next to the line that opens the part. */
  add: (name: string, close: () => unknown) => void
  /** How long all of the closing may take. */
  within: (seconds: number) => void
  /** Aborted when the service stops during its start. */
  readonly signal: AbortSignal
}

/**
 * Runs a service: `start` opens its parts, and resolves once it serves.
 *
 * SIGTERM or SIGINT closes the parts and exits with 0, or with 1 after 25 seconds or `within`; a second signal exits at once. A failed
 * start exits with 1, or with 78 for a configuration error; an uncaught error exits with 1. The log has the reason.
 */
export async function run(
  name: string,
  start: (closing: Closing) => Promise<void>,
  options: { logger?: Logger } = {},
): Promise<void> {
  const { logger = createLogger({ service: name, level: 'info' }) } = options
  let graceSeconds = 25
  const parts: { name: string; close: () => unknown }[] = []
  const stopping = new AbortController()

  async function exit(code: number): Promise<never> {
    await Promise.all([flushed(process.stdout), flushed(process.stderr)])
    process.exit(code)
  }

  async function closeAndExit(code: number) {
    const timer = setTimeout(() => {
      logger.error('shutdown timed out', { graceSeconds })
      void exit(1)
    }, graceSeconds * 1000)
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      try {
        await part.close()
        logger.info('closed', { part: part.name })
      } catch (error) {
        logger.error('close failed', { part: part.name, error })
      }
    }
    clearTimeout(timer)
    logger.info('stopped')
    await exit(code)
  }

  async function stop(signal: NodeJS.Signals) {
    if (stopping.signal.aborted) return exit(1)
    stopping.abort()
    logger.info('stopping', { signal })
    return closeAndExit(0)
  }

  async function fail(message: string, error: unknown) {
    logger.error(message, { error })
    return exit(1)
  }
  process.on('SIGTERM', (signal) => void stop(signal))
  process.on('SIGINT', (signal) => void stop(signal))
  process.on('uncaughtException', (error) => void fail('uncaught exception', error))
  process.on('unhandledRejection', (error) => void fail('unhandled rejection', error))
  // The service continues if the reader of its log is gone.
  process.stdout.on('error', () => undefined)

  try {
    await start({
      add: (part, close) => void parts.push({ name: part, close }),
      within: (seconds) => void (graceSeconds = seconds),
      signal: stopping.signal,
    })
    logger.info('started')
  } catch (error) {
    if (stopping.signal.aborted) return
    const isConfiguration = error instanceof ConfigurationError
    if (isConfiguration) process.stderr.write(`${name}: ${error.message}\n`)
    logger.error('start failed', isConfiguration ? { problems: error.problems } : { error })
    await closeAndExit(isConfiguration ? EXIT_CONFIGURATION : 1)
  }
}
