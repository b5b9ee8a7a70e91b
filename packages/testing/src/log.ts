import { once } from 'node:events'
import { PassThrough } from 'node:stream'

export type Line = { message: string } & Record<string, unknown>

/** Lines arrive shortly after their event: see `line`. */
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
    /** Waits for the first line with this message. */
    async line(message: string): Promise<Line> {
      for (;;) {
        const found = lines().find((line) => line.message === message)
        if (found) return found
        await once(stream, 'data')
      }
    },
  }
}
