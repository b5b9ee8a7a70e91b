import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The services refuse a secret with this prefix in production mode. */
const DEVELOPMENT_PREFIX = 'development-only-'

/** Generated once; marked so that production refuses them. */
export type Secrets = {
  gatewayJwt: string
  /** Absent from a state that an earlier version made. */
  gatewayOffers?: string
  facilitatorJwt: string
  adminToken: string
  /** The account at the facilitator that owns the gateway's client key. */
  operator: { email: string; password: string }
  clientKey?: { clientId: string; token: string }
}

export type State = ReturnType<typeof openState>

/** The folder of the persistent state: `.tollgate` of a checkout. Files are readable by their owner only. */
export function openState(folder: string) {
  mkdirSync(folder, { recursive: true })
  const at = (...names: string[]) => join(folder, ...names)
  const secretsFile = at('secrets.json')
  const lockFile = at('lock')

  const write = (name: string, text: string) => {
    writeFileSync(at(name), text, { mode: 0o600 })
    chmodSync(at(name), 0o600)
    return at(name)
  }

  /** @throws Error if another running start holds the lock */
  function assertUnlocked() {
    const holder = Number(readOrUndefined(lockFile))
    if (!holder || holder === process.pid || !isAlive(holder)) return
    const { gateway } = JSON.parse(readOrUndefined(at('devnet.json')) ?? '{}') as {
      gateway?: { url: string }
    }
    throw new Error(
      `This checkout is already up (process ${holder})${gateway ? ` at ${gateway.url}/console/` : ''}; stop it first, or use another copy`,
    )
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
        gatewayOffers: secret(),
        facilitatorJwt: secret(),
        adminToken: secret(),
        operator: { email: 'gateway@tollgate.example', password: secret() },
      }
      write('secrets.json', JSON.stringify(made, null, 2))
      return made
    },
    keepSecrets: (secrets: Secrets) => write('secrets.json', JSON.stringify(secrets, null, 2)),

    assertUnlocked,
    /** @throws Error if another running start holds the lock */
    lock() {
      assertUnlocked()
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
