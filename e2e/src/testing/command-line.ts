import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from './world'

const PROGRAM = join(root, 'packages/cli/dist/main.js')

export type Finished = { exitCode: number | null; stdout: string; stderr: string }

/** The built `tollgate`, as processes with these variables and no others. Keeps everything that they print. */
export function createCommandLine(variables: Record<string, string>) {
  const printed: string[] = []
  const { PATH = '' } = process.env
  const environmentWith = (more: Record<string, string>) => ({ PATH, TERM: 'xterm', ...variables, ...more })

  function follow(child: ChildProcess) {
    const output = { stdout: '', stderr: '' }
    for (const name of ['stdout', 'stderr'] as const)
      child[name]?.on('data', (chunk: Buffer) => (output[name] += chunk.toString()))
    const ended = once(child, 'close').then(([exitCode]): Finished => {
      printed.push(output.stdout, output.stderr)
      return { exitCode: exitCode as number | null, ...output }
    })
    /** Resolves once the text was printed, rejects if the process ends before. */
    const said = async (stream: 'stdout' | 'stderr', text: string | RegExp): Promise<void> => {
      const isThere = () =>
        typeof text === 'string' ? output[stream].includes(text) : text.test(output[stream])
      while (!isThere()) {
        const more = child[stream] ? once(child[stream], 'data') : ended
        await Promise.race([more, ended])
        if (child.exitCode !== null && !isThere())
          throw new Error(`It ended without "${String(text)}": ${output.stdout}${output.stderr}`)
      }
    }
    return { child, ended, said, output }
  }

  function start(words: readonly string[], more: Record<string, string> = {}) {
    return follow(
      spawn(process.execPath, [PROGRAM, ...words], {
        env: environmentWith(more),
        stdio: ['ignore', 'pipe', 'pipe'],
      }),
    )
  }

  return {
    start,
    run: (words: readonly string[], more?: Record<string, string>) => start(words, more).ended,
    /** The one JSON document that a command prints with `--json`; throws if it fails. */
    async json<T>(words: readonly string[], more?: Record<string, string>): Promise<T> {
      const { exitCode, stdout, stderr } = await start([...words, '--json'], more).ended
      if (exitCode !== 0) throw new Error(`tollgate ${words.join(' ')} ended with ${exitCode}: ${stderr}`)
      return JSON.parse(stdout) as T
    },
    /** On a pseudo-terminal; its screen is `stdout`. */
    startOnTerminal(words: readonly string[], more: Record<string, string> = {}) {
      const quoted = [process.execPath, PROGRAM, ...words].map((word) => `'${word}'`).join(' ')
      const child = spawn('script', ['-qec', `exec ${quoted}`, '/dev/null'], {
        env: environmentWith({ TERM: 'xterm', ...more }),
        stdio: ['pipe', 'pipe', 'pipe'],
      })
      return { ...follow(child), type: (text: string) => child.stdin.write(text) }
    },
    /** In a shell, where `tollgate` is the program. */
    runInShell: (script: string) =>
      follow(
        spawn('bash', ['-c', `tollgate() { '${process.execPath}' '${PROGRAM}' "$@"; }; ${script}`], {
          env: environmentWith({}),
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      ).ended,
    /** Everything that was printed. */
    printed: () => printed.join('\n'),
  }
}
