import { createColors } from 'picocolors'
import { CommandError, EXIT, failureOf } from '../exit-codes'
import { type OutputStream, type Secrets, type Terminal } from '../terminal'
import { printable, toJson } from './printable'
import { createProgress, type Progress } from './progress'

export type Output = ReturnType<typeof createOutput>
export type Colors = ReturnType<typeof createColors>

/** Results go to standard output, everything else to standard error. */
export function createOutput(
  terminal: Pick<Terminal, 'environment' | 'stdout' | 'stderr'>,
  { isJson, isColored, secrets }: { isJson: boolean; isColored: boolean; secrets: Secrets },
) {
  const { environment, stdout, stderr } = terminal
  const colorsOf = (stream: OutputStream) => createColors(isColored && isColorful(stream, environment))
  const colors = colorsOf(stdout)
  const errorColors = colorsOf(stderr)
  const running = new Set<Progress>()
  const lost: { error?: Error; advice: string } = { advice: '' }
  let written = Promise.resolve()
  const print = (text: string) => {
    written = new Promise((resolve) => {
      stdout.write(`${secrets.redactKeys(text)}\n`, (error) => {
        if (error && !isReaderGone(error)) lost.error ??= error
        resolve()
      })
    })
  }
  const say = (text: string) => void stderr.write(`${secrets.redact(text)}\n`)

  return {
    isJson,
    colors,
    isTerminal: stdout.isTTY === true,
    /** The result: one JSON document, or a text for people. `ifLost` says what to do if it cannot be written. */
    result(value: unknown, forPeople: (colors: Colors) => string, ifLost = ''): void {
      lost.advice = ifLost
      print(isJson ? toJson(value, 2) : forPeople(colors))
    },
    /** One of several results. */
    line: (value: unknown, forPeople: (colors: Colors) => string) =>
      print(isJson ? toJson(value) : forPeople(colors)),
    /** Waits until the results are written. @throws CommandError OUTPUT_FAILED */
    async written(): Promise<void> {
      await written
      if (lost.error) throw outputFailed(lost.error, lost.advice)
    },
    /** Only for people who look at it. */
    note: (text: string) => {
      if (stderr.isTTY) say(errorColors.dim(text))
    },
    warn: (text: string) => say(`${errorColors.yellow('Warning:')} ${text}`),
    /** Redrawn on a terminal until it is called; nothing elsewhere. */
    progress(label: string): () => void {
      const progress = createProgress(stderr, label)
      running.add(progress)
      progress.start()
      return () => {
        running.delete(progress)
        progress.stop()
      }
    },
    /** Without progress on the screen, for a question. */
    async uninterrupted<T>(task: () => Promise<T>): Promise<T> {
      for (const progress of running) progress.stop()
      try {
        return await task()
      } finally {
        for (const progress of running) progress.start()
      }
    },
    /** Returns the exit code. */
    fail(error: unknown): number {
      const { exitCode, ...failure } = failureOf(error)
      const { code, message, advice, details } = failure
      if (isJson)
        say(toJson({ error: { code, message, advice, exit_code: exitCode, ...withDetails(details) } }))
      else
        say(
          [`${errorColors.red('Error:')} ${bounded(message)}`, ...(advice ? [bounded(advice)] : [])].join(
            '\n',
          ),
        )
      return exitCode
    },
  }
}

/** It has seen enough, as `head` has. */
export const isReaderGone = (error: Error): boolean => 'code' in error && error.code === 'EPIPE'

export const outputFailed = (error: Error, advice = ''): CommandError =>
  new CommandError(
    'OUTPUT_FAILED',
    `The output cannot be written (${'code' in error ? String(error.code) : error.name})`,
    advice,
    EXIT.FAILED,
  )

const withDetails = (details: Record<string, unknown> | undefined) => (details ? { details } : {})

const isColorful = ({ isTTY }: OutputStream, { NO_COLOR = '', TERM }: Terminal['environment']) =>
  isTTY === true && NO_COLOR === '' && TERM !== 'dumb'

const MAX_MESSAGE_LENGTH = 1_000

const bounded = (message: string): string =>
  message.length > MAX_MESSAGE_LENGTH
    ? `${printable(message.slice(0, MAX_MESSAGE_LENGTH))} …`
    : printable(message)
