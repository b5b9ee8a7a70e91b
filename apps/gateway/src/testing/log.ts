import { createLogger, type Logger } from '@tollgate/service'
import { readableLog as readable } from '@tollgate/testing'

export function readableLog(): ReturnType<typeof readable> & { logger: Logger } {
  const log = readable()
  return { ...log, logger: createLogger({ service: 'gateway', level: 'info', stream: log.stream }) }
}
