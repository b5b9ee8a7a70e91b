import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig } from 'pg'
import { addressOf, describeAddress, sessionSettings } from './address'
import { connectionErrorReason } from './connection-errors'
import { DatabaseSetupError } from './database-setup-error'

export type WaitOptions = {
  /** Called before each pause; `reason` names host, port and database, never the user or the password. */
  onRetry?: ((attempt: number, reason: string) => void) | undefined
  signal?: AbortSignal | undefined
  /** 60 by default. */
  timeoutSeconds?: number | undefined
}

const ATTEMPT_TIMEOUT_MS = 3_000
const FIRST_PAUSE_MS = 100
const MAX_PAUSE_MS = 5_000

const permanent: Record<string, string> = {
  '28P01': 'the user or the password is wrong. Correct DATABASE_URL',
  '28000': 'it does not admit this user from here. Look at pg_hba.conf, and whether it wants TLS (?sslmode=)',
  '3D000': 'the database does not exist. Create it, or correct the name in DATABASE_URL',
  '42501': 'this user may not connect to it. GRANT CONNECT, or correct DATABASE_URL',
}

/**
 * Waits until Postgres accepts connections to this database; retries with exponential, jittered pauses.
 * @throws DatabaseSetupError at once for a wrong password or a missing database, and when the time is up.
 */
export async function waitForDatabase(url: string, waiting: WaitOptions = {}): Promise<void> {
  const client = await connectWhenReady(url, {}, waiting)
  await client.end()
}

/** As `waitForDatabase`, but returns the connection, which the caller ends. */
export async function connectWhenReady(
  url: string,
  settings: ClientConfig,
  { onRetry, signal, timeoutSeconds = 60 }: WaitOptions,
): Promise<Client> {
  const address = describeAddress(addressOf(url))
  const deadline = performance.now() + timeoutSeconds * 1000
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    const client = new Client(
      sessionSettings(url, { connectionTimeoutMillis: ATTEMPT_TIMEOUT_MS, ...settings }),
    )
    // The next statement reports a lost connection; without a listener the event would end the process.
    client.on('error', () => undefined)
    try {
      return await client.connect()
    } catch (error) {
      const { reason, isPermanent } = diagnose(error)
      if (isPermanent) throw new DatabaseSetupError(`${address}: ${reason}`)
      const remainingMs = deadline - performance.now()
      if (remainingMs <= 0) {
        throw new DatabaseSetupError(
          `${address}: ${reason}. Gave up after ${timeoutSeconds} s: start Postgres, or correct DATABASE_URL`,
        )
      }
      onRetry?.(attempt, `${address}: ${reason}`)
      await sleep(Math.min(pauseAfter(attempt), remainingMs), undefined, signal && { signal })
    }
  }
}

function pauseAfter(attempt: number): number {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS)
  return pauseMs * (0.5 + Math.random() / 2)
}

function diagnose(error: unknown): { reason: string; isPermanent: boolean } {
  const { code = '', message } = error as { code?: string; message: string }
  const permanentReason = permanent[code] ?? permanentByMessage(message)
  if (permanentReason) return { reason: permanentReason, isPermanent: true }
  return {
    reason: connectionErrorReason(error) ?? `the connection failed (${code || 'no error code'})`,
    isPermanent: false,
  }
}

/** Errors of the driver itself, which have no code. */
function permanentByMessage(message: string): string | undefined {
  if (message.startsWith('SASL')) {
    return 'it wants a password that DATABASE_URL does not have, or another one'
  }
  if (/does not support SSL/.test(message)) return 'it has no TLS, but DATABASE_URL asks for it (?sslmode=)'
  return undefined
}
