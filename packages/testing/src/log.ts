import { once } from 'node:events'
import { PassThrough } from 'node:stream'

export type Line = { message: string } & Record<string, unknown>

export function readableLog() {
  const stream = new PassThrough()
  let text = ''
  stream.on('data', (chunk: Buffer) => (text += chunk.toString()))
  const lines = () =>
    text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Line)

  return {
    stream,
    lines,
    text: () => text,
    async line(message: string): Promise<Line> {
      for (;;) {
        const found = lines().find((line) => line.message === message)
        if (found) return found
        await once(stream, 'data')
      }
    },
  }
}
