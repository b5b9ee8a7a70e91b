import { readFile } from 'node:fs/promises'
import { UsageError } from '../exit-codes'
import { type Output } from '../output/output'
import { askNewSecret, askSecret } from '../prompts'
import { type Secrets, type Terminal } from '../terminal'
import { codeOf, isReadableForOthers } from './keystore'

type Wish = {
  /** As a question: `Password of FILE`. */
  question: string
  passwordFile: string | undefined
  /** The environment variable that may have it. */
  variable: 'TOLLGATE_PASSWORD' | 'TOLLGATE_SHOP_PASSWORD'
  /** Asked twice. */
  isNew: boolean
}

/** From --password-file, the environment, or a terminal. @throws UsageError */
export async function readPassword(
  { question, passwordFile, variable, isNew }: Wish,
  { terminal, output, secrets }: { terminal: Terminal; output: Output; secrets: Secrets },
): Promise<string> {
  const given =
    passwordFile === undefined
      ? terminal.environment[variable] || undefined
      : await readFirstLine(passwordFile, output)
  const ask = isNew ? askNewSecret : askSecret
  const instead = `${variable} or --password-file`
  const password = given ?? (await output.uninterrupted(() => ask(terminal, question, instead)))
  if (password === '') throw new UsageError('The password is empty')
  return secrets.addPassword(password)
}

async function readFirstLine(file: string, output: Output): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new UsageError(`--password-file: the file cannot be read (${codeOf(cause)})`, { cause })
  })
  if (await isReadableForOthers(file)) output.warn(`others may read ${file}; run: chmod 600 ${file}`)
  return text.split(/\r?\n/)[0] ?? ''
}
