import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'

/** The unprivileged account a process runs as; only root may choose one. */
export interface Owner {
  uid: number
  gid: number
}

export interface ProcessExit {
  name: string
  code: number | null
  signal: NodeJS.Signals | null
  /** The last lines the process wrote. */
  output: string
}

export interface ProcessOptions {
  name: string
  command: string
  args: string[]
  /** Receives what the process writes; emptied at each start. */
  logFile: string
  cwd?: string
  env?: NodeJS.ProcessEnv
  owner?: Owner | undefined
  /** Either a pattern that the output must show, or a probe; a probe that throws means "not yet". */
  ready?: RegExp | (() => Promise<boolean>)
  timeoutSeconds?: number
  stopSignal?: 'SIGTERM' | 'SIGINT'
  /** What a stopping process is given before SIGKILL. */
  stopSeconds?: number
  /** Called when the process ends although nobody asked it to. */
  onExit?: ((exit: ProcessExit) => void) | undefined
}

export type RunningProcess = Awaited<ReturnType<typeof startProcess>>

/**
 * Starts in the child and then becomes it. A shadow stays behind and reads from a pipe that only our process holds: should
 * we die, in whatever way, the read ends, and the shadow stops the child, after three seconds by SIGKILL.
 */
const LIFELINE = `
(
  read -r _ <&3
  kill -s "$0" $$
  i=0; while [ $i -lt 30 ] && kill -0 $$; do sleep 0.1; i=$((i+1)); done
  kill -s KILL -- -$$
) >/dev/null 2>&1 &
exec "$@" 3<&-`

/**
 * Starts a child process in a session of its own, so that a Ctrl-C reaches us alone and the order of stopping is ours,
 * and answers once it is ready. It never outlives us, not even our own SIGKILL.
 * Throws, with the last lines of output, if the process ends or the time runs out before that; nothing is left running then.
 */
export async function startProcess(options: ProcessOptions) {
  const { name, command, args, logFile, cwd, env, owner, ready, onExit } = options
  const stopSignal = options.stopSignal ?? 'SIGTERM'
  const log = openSync(logFile, 'w', 0o600)
  const child = spawn('/bin/sh', ['-c', LIFELINE, stopSignal.slice(3), command, ...args], {
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
  const lifeline = child.stdio[3]
  lifeline?.on('error', () => undefined)
  const released = new Promise((resolve) => {
    if (lifeline) lifeline.once('close', resolve)
    else resolve(undefined)
  })

  /** Idempotent; when it returns, neither the process nor anything of its group is left. */
  function stop(): Promise<void> {
    stopping = true
    stopped ??= (async () => {
      if (!ended) child.kill(stopSignal)
      await within(exited, (options.stopSeconds ?? 2) * 1000)
      killGroup(child.pid)
      await exited
      if (lifeline && 'resume' in lifeline) lifeline.resume()
      await within(released, 1000)
    })()
    return stopped
  }

  try {
    await becomeReady()
  } catch (problem) {
    await stop()
    throw problem
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

/** Takes the shadow along, and whatever else the process left behind; while the shadow lives the number is ours. */
function killGroup(pid: number | undefined) {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // Nothing was left.
  }
}

async function within(event: Promise<unknown>, milliseconds: number) {
  const timer = new AbortController()
  await Promise.race([event, delay(milliseconds, undefined, { signal: timer.signal })]).finally(() =>
    timer.abort(),
  )
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
