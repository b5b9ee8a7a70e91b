import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { withTimeout } from '@tollgate/protocol'

/** The unprivileged account of a process; only root may set it. */
export type Owner = {
  uid: number
  gid: number
}

export type ProcessExit = {
  name: string
  code: number | null
  signal: NodeJS.Signals | null
  /** The last lines of its output. */
  output: string
}

export type ProcessOptions = {
  name: string
  command: string
  args: string[]
  /** Receives the output; truncated at each start. */
  logFile: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  owner?: Owner | undefined
  /** A pattern of the output, or a probe; a probe that throws means "not ready". */
  ready?: RegExp | (() => Promise<boolean>)
  timeoutSeconds?: number
  stopSignal?: 'SIGTERM' | 'SIGINT'
  /** The time between the stop signal and SIGKILL. */
  stopSeconds?: number
  /** Called if the process ends without `stop`. */
  onExit?: ((exit: ProcessExit) => void) | undefined
}

export type RunningProcess = Awaited<ReturnType<typeof startProcess>>

/**
 * Forks a watchdog and then executes the command. The watchdog reads from a pipe that our process holds open: if our process
 * dies, the read ends and the watchdog stops the child, after three seconds by SIGKILL.
 */
const WATCHDOG = `
(
  read -r _ <&3
  kill -s "$0" $$
  i=0; while [ $i -lt 30 ] && kill -0 $$; do sleep 0.1; i=$((i+1)); done
  kill -s KILL -- -$$
) >/dev/null 2>&1 &
exec "$@" 3<&-`

/**
 * Starts a child process in a separate session, so that Ctrl-C does not reach it, and resolves once it is ready. It ends with our
 * process, even after SIGKILL. If it ends early or is not ready in time, the error has its last lines of output.
 */
export async function startProcess(options: ProcessOptions) {
  const { name, command, args, logFile, cwd, env, owner, ready, onExit } = options
  const stopSignal = options.stopSignal ?? 'SIGTERM'
  const log = openSync(logFile, 'w', 0o600)
  const child = spawn('/bin/sh', ['-c', WATCHDOG, stopSignal.slice(3), command, ...args], {
    detached: true,
    stdio: ['ignore', log, log, 'pipe'],
    ...(cwd !== undefined && { cwd }),
    ...(env && { env }),
    ...owner,
  })
  closeSync(log)

  let stopping = false
  let ended: ProcessExit | undefined
  let stopped: Promise<void> | undefined
  const output = () => lastLines(logFile)
  const exited = new Promise<ProcessExit>((resolve) => {
    const end = (code: number | null, signal: NodeJS.Signals | null, problem = '') => {
      if (ended) return
      killGroup(child.pid)
      ended = { name, code, signal, output: problem || output() }
      resolve(ended)
    }
    child.once('exit', (code, signal) => end(code, signal))
    child.once('error', (error) => end(null, null, error.message))
  })
  const watchdogPipe = child.stdio[3]
  watchdogPipe?.on('error', () => undefined)
  const released = new Promise((resolve) => {
    if (watchdogPipe) watchdogPipe.once('close', resolve)
    else resolve(undefined)
  })

  /** Idempotent; ends the whole process group. */
  function stop(seconds = options.stopSeconds ?? 2): Promise<void> {
    stopping = true
    stopped ??= (async () => {
      if (!ended) child.kill(stopSignal)
      await withTimeout(exited, seconds * 1000, () => undefined)
      killGroup(child.pid)
      await exited
      if (watchdogPipe && 'resume' in watchdogPipe) watchdogPipe.resume()
      await withTimeout(released, 1000, () => undefined)
    })()
    return stopped
  }

  try {
    await becomeReady()
  } catch (error) {
    await stop()
    throw error
  }
  void exited.then((exit) => {
    if (!stopping) onExit?.(exit)
  })
  return { name, pid: child.pid ?? 0, exited, output, stop }

  function hasEnded() {
    return ended !== undefined
  }

  async function becomeReady() {
    const deadline = Date.now() + (options.timeoutSeconds ?? 30) * 1000
    for (;;) {
      if (ended) throw failure(`ended with ${ended.signal ?? `code ${String(ended.code)}`}`, ended.output)
      const isReady =
        ready instanceof RegExp ? ready.test(readLog(logFile)) : ready ? await attempt(ready) : true
      if (isReady && !hasEnded()) return
      if (Date.now() > deadline)
        throw failure(`was not ready after ${options.timeoutSeconds ?? 30} s`, output())
      await Promise.race([delay(20), exited])
    }
  }

  function failure(what: string, last: string) {
    return new Error(`${name} ${what}. The end of ${logFile}:\n${last}`)
  }
}

async function attempt(probe: () => Promise<boolean>) {
  try {
    return await probe()
  } catch {
    return false
  }
}

/** Kills the watchdog and all descendants. While the watchdog lives, no other process can get the group's id. */
function killGroup(pid: number | undefined) {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended.
  }
}

function readLog(file: string) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function lastLines(file: string) {
  return readLog(file).trimEnd().split('\n').slice(-15).join('\n')
}
