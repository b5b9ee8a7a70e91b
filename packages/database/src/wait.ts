import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { addressOf, sessionSettings, tell } from './address'
import { reasonIn } from './away'
import { DatabaseProblem } from './problem'

export interface Waiting {
  /** Told before each pause; `reason` names host, port and database, never the user or the password. */
  onRetry?: ((attempt: number, reason: string) => void) | undefined
  signal?: AbortSignal | undefined
  /** How long to go on trying; 60 unless told. */
  timeoutSeconds?: number | undefined
}

const ATTEMPT_TIMEOUT_MS = 3_000
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

/** What no waiting mends. */
const lasting: Record<string, string> = {
  '28P01': 'the user or the password is wrong. Correct DATABASE_URL',
  '28000': 'it does not admit this user from here. Look at pg_hba.conf, and whether it wants TLS (?sslmode=)',
  '3D000': 'the database does not exist. Create it, or correct the name in DATABASE_URL',
  '42501': 'this user may not connect to it. GRANT CONNECT, or correct DATABASE_URL',
}

/**
 * Waits until Postgres takes connections to this database, trying again with growing, jittered pauses.
 * @throws DatabaseProblem at once for a wrong password or a missing database, and when the time is up.
 */
export async function waitForDatabase(url: string, waiting: Waiting = {}): Promise<void> {
  const client = await connectWhenReady(url, {}, waiting)
  await client.end()
}

/** `waitForDatabase` that keeps the connection: one session, for the caller to end. */
export async function connectWhenReady(
  url: string,
  settings: ClientConfig,
  { onRetry, signal, timeoutSeconds = 60 }: Waiting,
): Promise<Client> {
  const address = tell(addressOf(url))
  const deadline = performance.now() + timeoutSeconds * 1000
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const client = new Client(
      sessionSettings(url, { connectionTimeoutMillis: ATTEMPT_TIMEOUT_MS, ...settings }),
    )
    // A connection lost between two statements is told by the next statement; unheard, the event would end the process.
    client.on('error', () => undefined)
    try {
      return await client.connect()
    } catch (error) {
      const { reason, lasts } = diagnose(error)
      if (lasts) throw new DatabaseProblem(`${address}: ${reason}`)
      const left = deadline - performance.now()
      if (left <= 0) {
        throw new DatabaseProblem(
          `${address}: ${reason}. Gave up after ${timeoutSeconds} s: start Postgres, or correct DATABASE_URL`,
        )
      }
      onRetry?.(attempt, `${address}: ${reason}`)
      await sleep(Math.min(pauseAfter(attempt), left), undefined, signal && { signal })
    }
  }
}

function pauseAfter(attempt: number): number {
  const longest = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), LONGEST_PAUSE_MS)
  return longest * (0.5 + Math.random() / 2)
}

function diagnose(error: unknown): { reason: string; lasts: boolean } {
  const { code = '', message } = error as { code?: string; message: string }
  const mended = lasting[code] ?? lastingByMessage(message)
  if (mended) return { reason: mended, lasts: true }
  return {
    reason: reasonIn(error) ?? `the connection failed (${code || 'no error code'})`,
    lasts: false,
  }
}

/** Refusals that the driver makes itself, without a code. */
function lastingByMessage(message: string): string | undefined {
  if (message.startsWith('SASL')) {
    return 'it wants a password that DATABASE_URL does not have, or another one'
  }
  if (/does not support SSL/.test(message)) return 'it has no TLS, but DATABASE_URL asks for it (?sslmode=)'
  return undefined
}
