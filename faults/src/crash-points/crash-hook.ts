import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '@tollgate/e2e/testing/paying'
import { type Step } from './steps'

/** The variable with the hook's folder; a process without it is not watched. */
export const TRAP_FOLDER = 'TOLLGATE_TRAP_FOLDER'
/** The variable with the signal; SIGKILL by default. */
export const TRAP_SIGNAL = 'TOLLGATE_TRAP_SIGNAL'

/** The killed process, the time (Unix milliseconds), and the Postgres sessions that held its signer locks. */
export type Kill = { pid: number; step: Step; at: number; owners: number[] }

export type CrashHook = ReturnType<typeof openCrashHook>

/**
 * Kills or stops the first process started with `environment` that reaches the armed step, and no other. Its
 * state is a folder, because the check in the process must be synchronous.
 */
export function openCrashHook({ signal = 'SIGKILL' }: { signal?: 'SIGKILL' | 'SIGSTOP' } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-trap-'))
  const armed = join(folder, 'armed')

  return {
    environment: {
      [TRAP_FOLDER]: folder,
      [TRAP_SIGNAL]: signal,
      NODE_OPTIONS: `--require=${join(__dirname, '../preload/crash.js')}`,
    },

    /** Arms the hook for one kill, after `passes` passes of the step. */
    arm(step: Step, passes = 0) {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder)
      for (let pass = 0; pass < passes; pass++) writeFileSync(join(folder, `pass-${pass}`), '')
      writeFileSync(`${armed}.new`, step)
      renameSync(`${armed}.new`, armed)
    },

    /** Resolves after the kill. @throws Error if no process reaches the step in time; the hook is disarmed then */
    async killed(seconds: number): Promise<Kill> {
      const file = join(folder, 'killed')
      try {
        const text = await until(
          () => Promise.resolve(existsSync(file) ? readFileSync(file, 'utf8') : ''),
          (found) => found !== '',
          seconds,
          5,
        )
        return JSON.parse(text) as Kill
      } finally {
        rmSync(armed, { force: true })
      }
    },

    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Called by the watched process: whether to die now, at this step. */
export function isTriggered(folder: string, step: Step): boolean {
  const armed = join(folder, 'armed')
  try {
    if (readFileSync(armed, 'utf8') !== step) return false
    for (const pass of readdirSync(folder).filter((name) => name.startsWith('pass-')))
      if (wins(() => rmSync(join(folder, pass)))) return false
    return wins(() => renameSync(armed, join(folder, 'sprung')))
  } catch {
    // Not armed, or being armed again.
    return false
  }
}

/** One of all processes that do the same to a file succeeds. */
function wins(take: () => void): boolean {
  try {
    take()
    return true
  } catch {
    return false
  }
}

export function recordKill(folder: string, kill: Kill) {
  const file = join(folder, 'killed')
  writeFileSync(`${file}.new`, JSON.stringify(kill))
  renameSync(`${file}.new`, file)
}
