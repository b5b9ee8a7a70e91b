import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const TIMEOUT_MS = 50_000

/** Ends what a block has printed. */
const END = '\0'

/**
 * One shell in `folder`, with these variables only. Variables and background programs of a block remain for the next.
 */
export function startShell(folder: string, given: Record<string, string>) {
  const shell = spawn('bash', ['-euo', 'pipefail'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...given },
    // A process group of its own, which ends as one.
    detached: true,
  })
  let printed = ''
  let complained = ''
  shell.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  shell.stderr.on('data', (chunk: Buffer) => (complained += chunk.toString()))
  // Of a shell that has ended nothing can be asked: `run` says so.
  shell.stdin.on('error', () => undefined)
  const exited = once(shell, 'exit').then(() => true)
  let blocks = 0

  return {
    /**
     * What the block prints.
     *
     * @throws Error with what was written to stderr, if a command fails or the block does not end; the shell is gone then
     */
    async run(text: string): Promise<string> {
      printed = complained = ''
      const file = join(folder, `block-${++blocks}.sh`)
      writeFileSync(file, text)
      shell.stdin.write(`source ${file} < /dev/null; printf '\\0'\n`)
      const deadline = AbortSignal.timeout(TIMEOUT_MS)
      const more = () => once(shell.stdout, 'data', { signal: deadline }).then(() => false)
      while (!printed.endsWith(END)) {
        const isOver = await Promise.race([more(), exited]).catch(() => true)
        if (isOver) throw new Error(`The block failed, or did not end:\n${printed}\n${complained}`)
      }
      return printed.slice(0, -END.length)
    },
    async stop() {
      try {
        process.kill(-(shell.pid ?? NaN), 'SIGKILL')
      } catch {
        // Nothing of it is left.
      }
      await exited
    },
  }
}
