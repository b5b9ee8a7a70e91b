import { TollgateError } from '@tollgate/wallet'
import { createInterface } from 'node:readline'
import { Writable } from 'node:stream'
import { UsageError } from './exit-codes'
import { type Terminal } from './terminal'

type Prompting = Pick<Terminal, 'stdin' | 'stderr'>

/** Whether there is a person to ask. */
const isInteractive = ({ stdin, stderr }: Prompting) => stdin.isTTY && stderr.isTTY === true

/** One line without its echo. @throws UsageError if there is no terminal, naming `instead` */
export async function askSecret(terminal: Prompting, question: string, instead: string): Promise<string> {
  if (!isInteractive(terminal))
    throw new UsageError(`${question} is asked on a terminal; here give ${instead}`)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  try {
    return await readLine(terminal, silent, `${question}: `)
  } finally {
    terminal.stderr.write('\n')
  }
}

/** Asked twice. */
export async function askNewSecret(terminal: Prompting, question: string, instead: string): Promise<string> {
  const first = await askSecret(terminal, question, instead)
  if ((await askSecret(terminal, `${question}, again`, instead)) === first) return first
  throw new UsageError('The two differ')
}

/** @throws UsageError if there is no terminal, naming `instead` */
export async function confirm(terminal: Prompting, question: string, instead: string): Promise<boolean> {
  if (!isInteractive(terminal))
    throw new UsageError(`${question} This is asked on a terminal; here give ${instead}`)
  const answer = await readLine(terminal, terminal.stderr as Writable, `${question} [y/N] `)
  return /^y(es)?$/i.test(answer.trim())
}

/** The terminal's own echo is off before the question is seen. */
function readLine({ stdin, stderr }: Prompting, echo: Writable, question: string): Promise<string> {
  const reader = createInterface({ input: stdin, output: echo, terminal: true, historySize: 0 })
  stderr.write(question)
  return new Promise<string>((resolve, reject) => {
    reader.once('line', resolve)
    reader.once('SIGINT', () => reject(interrupted()))
    reader.once('close', () => reject(interrupted()))
  }).finally(() => reader.close())
}

const interrupted = () => new TollgateError('ABORTED', 'Stopped')
