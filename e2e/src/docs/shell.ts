import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

const TIMEOUT_MS = 50_000

const END = '\0'

/**
 * One shell in `folder`, with only these variables. Variables and background processes remain for the next
 * block.
 */
export function startShell(folder: string, given: Record<string, string>) {
  const shell = spawn('bash', ['-euo', 'pipefail'], {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', HOME: folder, ...given },
    // A separate process group, which can be killed as a whole.
    detached: true,
  })
  let printed = ''
  let complained = ''
  shell.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()))
  shell.stderr.on('data', (chunk: Buffer) => (complained += chunk.toString()))
  // A write to an ended shell fails; `run` reports it.
  shell.stdin.on('error', () => undefined)
  const exited = once(shell, 'exit').then(() => true)
  let blocks = 0

  return {
    /**
     * The output of the block.
     *
     * @throws Error with stderr if a command fails or the block does not end; the shell is closed then
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
        // The process group has already ended.
      }
      await exited
    },
  }
}
