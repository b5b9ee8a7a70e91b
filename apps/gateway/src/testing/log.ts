import { createLogger, type Logger } from '@tollgate/service'
import { Writable } from 'node:stream'

/** A logger whose text can be read. */
export function readableLog(): { logger: Logger; text: () => string } {
  let text = ''
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      done()
    },
  })
  return { logger: createLogger({ service: 'gateway', level: 'info', stream }), text: () => text }
}
