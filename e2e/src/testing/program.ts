import { execFileSync, type ChildProcess } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { stripVTControlCharacters } from 'node:util'

/**
 * Follows a process with piped output: its whole output without colors, which some programs print where `CI` is set; its exit
 * code (null after a signal); and `said`, which resolves once a text was printed and rejects if the process ends before.
 */
export function follow(child: ChildProcess) {
  let printedText = ''
  const output = () => stripVTControlCharacters(printedText)
  const printed = new EventEmitter()
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      printedText += chunk.toString()
      printed.emit('more')
    })
  const exited = once(child, 'exit').then(([code]) => code as number | null)

  // `close` follows `exit`, when all output was read.
  const closed = once(child, 'close').then(() => true)
  const more = () => once(printed, 'more').then(() => false)
  const said = async (text: string) => {
    while (!output().includes(text)) {
      const isOver = await Promise.race([more(), closed])
      if (isOver && !output().includes(text))
        throw new Error(`It ended without saying "${text}":\n${output()}`)
    }
  }
  return { child, exited, said, output }
}

export const processesOf = (folder: string): string[] =>
  execFileSync('ps', ['-eo', 'args'])
    .toString()
    .split('\n')
    .filter((line) => line.includes(folder))
