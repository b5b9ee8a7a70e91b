import { Writable } from 'node:stream'

/** A stream for a log whose text can be read. */
export function readableLog() {
  let text = ''
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString()
      done()
    },
  })
  return { stream, text: () => text }
}
