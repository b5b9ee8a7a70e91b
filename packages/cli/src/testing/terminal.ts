import { PassThrough } from 'node:stream'
import { type OutputStream, type Terminal } from '../terminal'

/** A terminal that keeps what is printed. */
export function createTestTerminal({
  isTTY = false,
  environment = {},
}: { isTTY?: boolean; environment?: Record<string, string> } = {}) {
  const printed = { stdout: '', stderr: '' }
  const stream = (name: keyof typeof printed): OutputStream => ({
    isTTY,
    write(text, written) {
      printed[name] += text
      written?.()
    },
  })
  const stdin = Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.ReadStream
  const terminal: Terminal = {
    ...{ environment, stdin, stdout: stream('stdout'), stderr: stream('stderr') },
    onStop: () => () => undefined,
  }
  return { terminal, printed }
}
