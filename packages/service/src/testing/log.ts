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
    line: async (message: string): Promise<Line> => {
      for (;;) {
        const found = lines().find((line) => line.message === message)
        if (found) return found
        await once(stream, 'data')
      }
    },
  }
}
