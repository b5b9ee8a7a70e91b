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

/** The variable that names the folder; a process without it is not watched. */
export const TRAP_FOLDER = 'TOLLGATE_TRAP_FOLDER'
/** The variable that names the signal; SIGKILL where it is absent. */
export const TRAP_SIGNAL = 'TOLLGATE_TRAP_SIGNAL'

/** Whom the trap has killed, when (Unix milliseconds), and which sessions of Postgres held its signers' locks. */
export type Kill = { pid: number; step: Step; at: number; owners: number[] }

export type CrashHook = ReturnType<typeof openCrashHook>

/**
 * A trap for processes that are started with `environment`: once armed it kills, or stops, the first of them that reaches
 * the step, at the step, and no other. It is a folder, because what looks at it must not wait for anybody.
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

    /** From now on the trap is set, for one kill; so many times the step is let pass before. */
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

/** As the watched process sees it: whether it is to die now, at this step. */
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

/** Of all processes that do the same to a file one succeeds. */
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
