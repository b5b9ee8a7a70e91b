import { type CommandIo } from '@tollgate/service'
import { execFile } from 'node:child_process'

type Main = (args: string[], io: CommandIo) => Promise<number>

/** Runs a command line in this process. */
export async function runMain(main: Main, args: string[], environment: NodeJS.ProcessEnv = {}) {
  let [out, err] = ['', '']
  const code = await main(args, {
    environment,
    out: (text) => (out += text),
    err: (text) => (err += text),
  })
  if (/\n\s+at /.test(out + err)) throw new Error(`The command printed a stack: ${out}${err}`)
  return { code, out, err }
}

/** Runs a file of `bin/` as a process with these variables and the PATH. */
export const runBin = (file: string, args: string[], variables: NodeJS.ProcessEnv = {}) =>
  new Promise<[code: unknown, out: string, err: string]>((resolve) =>
    execFile(
      process.execPath,
      [file, ...args],
      { env: { PATH: process.env['PATH'], ...variables } },
      (error, out, err) => resolve([error?.code ?? 0, out, err]),
    ),
  )
