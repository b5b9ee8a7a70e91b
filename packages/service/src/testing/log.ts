import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { createLogger, flushed } from '../logger'

export type Line = { time: string; level: string; service: string; message: string } & Record<string, unknown>

export function readableLog(level = 'info') {
  const stream = new PassThrough()
  let text = ''
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const lines = () =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line)

  return {
    logger: createLogger({ service: 'test', level, stream }),
    lines,
    text: () => text,
    flushed: () => flushed(stream),
    /** @throws Error if the line does not come in time */
    line: async (message: string, { withinSeconds = 60 } = {}): Promise<Line> => {
      const signal = AbortSignal.timeout(withinSeconds * 1_000)
      for (;;) {
        const found = lines().find((line) => line.message === message)
        if (found) return found
        await once(stream, 'data', { signal }).catch((cause: unknown) => {
          const logged = lines().map((line) => line.message)
          throw new Error(`"${message}" is not among [${logged.join(', ')}] after ${withinSeconds} s`, {
            cause,
          })
        })
      }
    },
  }
}
