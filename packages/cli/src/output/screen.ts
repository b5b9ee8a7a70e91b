import { type OutputStream } from '../terminal'

const UP = (lines: number) => (lines > 0 ? `\u001B[${lines}A` : '')
const CLEAR_BELOW = '\u001B[J'
const WRAP_OFF = '\u001B[?7l'
const WRAP_ON = '\u001B[?7h'

/** A text that replaces the one before it. Long lines are cut at the edge, so that lines can be counted. */
export function createScreen(stream: OutputStream) {
  let lines = 0
  return (text: string): void => {
    stream.write(`${UP(lines)}\r${CLEAR_BELOW}${WRAP_OFF}${text}${WRAP_ON}\n`)
    lines = text.split('\n').length
  }
}
