import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** What the services refuse in production mode, wherever it is part of a secret. */
const DEVELOPMENT_PREFIX = 'development-only-'

/** What this devnet made up once and keeps: for this machine only, and marked so that production refuses it. */
export type Secrets = {
  gatewayJwt: string
  facilitatorJwt: string
  adminToken: string
  /** The account at the facilitator that owns the gateway's client key. */
  operator: { email: string; password: string }
  clientKey?: { clientId: string; token: string }
}

export type State = ReturnType<typeof openState>

/** The folder that holds all that outlives a start: `.tollgate` of a checkout. What is secret only its owner can read. */
export function openState(folder: string) {
  mkdirSync(folder, { recursive: true })
  const at = (...parts: string[]) => join(folder, ...parts)
  const secretsFile = at('secrets.json')
  const lockFile = at('lock')

  const write = (name: string, text: string) => {
    writeFileSync(at(name), text, { mode: 0o600 })
    chmodSync(at(name), 0o600)
    return at(name)
  }

  const secret = () => DEVELOPMENT_PREFIX + randomBytes(32).toString('hex')

  return {
    folder,
    at,
    write,
    writeJson: (name: string, value: unknown) => write(name, `${JSON.stringify(value, null, 2)}\n`),
    remove: (name: string) => rmSync(at(name), { force: true, recursive: true }),

    secrets(): Secrets {
      const kept = readOrUndefined(secretsFile)
      if (kept !== undefined) return JSON.parse(kept) as Secrets
      const made: Secrets = {
        gatewayJwt: secret(),
        facilitatorJwt: secret(),
        adminToken: secret(),
        operator: { email: 'gateway@tollgate.example', password: secret() },
      }
      write('secrets.json', JSON.stringify(made, null, 2))
      return made
    },
    keepSecrets: (secrets: Secrets) => write('secrets.json', JSON.stringify(secrets, null, 2)),

    /** Takes the folder for this process. @throws Error where another start that is alive has it */
    lock() {
      const holder = Number(readOrUndefined(lockFile))
      if (holder && holder !== process.pid && isAlive(holder))
        throw new Error(`This checkout is already up (process ${holder}); stop it first, or use another copy`)
      write('lock', String(process.pid))
    },
    unlock: () => rmSync(lockFile, { force: true }),
  }
}

function isAlive(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function readOrUndefined(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
