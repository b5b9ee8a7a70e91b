import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { addressOf, describeAddress } from './address'
import { connectionErrorReason } from './connection-errors'
import { DatabaseSetupError } from './database-setup-error'
import { sharesSessions } from './pool-mode'
import { connectionConfig, prepareSession } from './session-settings'
import { isCertificateError, uncheckedMode, withTls } from './tls'

export type WaitOptions = {
  /** Called before each pause; `reason` names host, port and database, never the user or the password. */
  onRetry?: ((attempt: number, reason: string) => void) | undefined
  /** Called once if the connection uses TLS and its `sslmode` does not check the certificate. */
  onUncheckedCertificate?: ((sslmode: string) => void) | undefined
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

const SESSION_MODE_NEEDED =
  'the pooler before it gives a session to several clients, and locks, notifications and settings belong to a session. Set ' +
  'pool_mode = session in PgBouncer, or let DATABASE_URL lead to Postgres itself'

export type ConnectOptions = { applicationName?: string; lockTimeoutMs?: number }

/**
 * Waits until Postgres accepts connections to this database; retries with exponential, jittered pauses.
 * @throws DatabaseSetupError at once for what waiting cannot change, such as a wrong password or a pooler in transaction mode, and
 * when the time is up.
 */
export async function waitForDatabase(url: string, waiting: WaitOptions = {}): Promise<void> {
  const client = await connectWhenReady(url, {}, waiting)
  const mode = uncheckedMode(url)
  if (mode !== undefined) waiting.onUncheckedCertificate?.(mode)
  await client.end()
}

/** As `waitForDatabase`, but returns the connection, which the caller ends. */
export async function connectWhenReady(
  url: string,
  options: ConnectOptions,
  { onRetry, signal, timeoutSeconds = 60 }: WaitOptions,
): Promise<Client> {
  const address = describeAddress(addressOf(url))
  const deadline = performance.now() + timeoutSeconds * 1000
  for (let attempt = 1; ; attempt++) {
    signal?.throwIfAborted()
    try {
      return await connect(url, options)
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

async function connect(url: string, { applicationName, lockTimeoutMs }: ConnectOptions): Promise<Client> {
  const client = await withTls(url, () => openClient(url, applicationName))
  try {
    if (await sharesSessions(client, () => openClient(url, applicationName)))
      throw new DatabaseSetupError(SESSION_MODE_NEEDED)
    await prepareSession(client, { lockTimeoutMs })
    return client
  } catch (error) {
    await client.end()
    throw error
  }
}

async function openClient(url: string, applicationName: string | undefined): Promise<Client> {
  const client = new Client(
    connectionConfig(url, { application_name: applicationName, connectionTimeoutMillis: ATTEMPT_TIMEOUT_MS }),
  )
  // The next statement reports a lost connection; without a listener the event would end the process.
  client.on('error', () => undefined)
  return client.connect()
}

function pauseAfter(attempt: number): number {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (attempt - 1), MAX_PAUSE_MS)
  return pauseMs * (0.5 + Math.random() / 2)
}

function diagnose(error: unknown): { reason: string; isPermanent: boolean } {
  const { code = '', message } = error as { code?: string; message: string }
  const permanentReason =
    error instanceof DatabaseSetupError
      ? message
      : (permanent[code] ?? certificateReason(code) ?? permanentByMessage(message))
  if (permanentReason) return { reason: permanentReason, isPermanent: true }
  return {
    reason: connectionErrorReason(error) ?? `the connection failed (${code || 'no error code'})`,
    isPermanent: false,
  }
}

const certificateReason = (code: string) =>
  isCertificateError(code)
    ? `its certificate is not trusted (${code}). Name its authority by sslrootcert=FILE, and its host as the certificate does; sslmode=require encrypts without a check`
    : undefined

/** Errors of the driver itself, which have no code, and of PgBouncer, which has one code for all. */
function permanentByMessage(message: string): string | undefined {
  if (message.startsWith('SASL')) {
    return 'it wants a password that DATABASE_URL does not have, or another one'
  }
  if (/does not support SSL/.test(message)) return 'it has no TLS, but DATABASE_URL asks for it (?sslmode=)'
  const [, parameter] = /^unsupported startup parameter(?: in options)?: (\w+)/.exec(message) ?? []
  if (parameter)
    return `the pooler before it refuses the startup parameter "${parameter}". Remove it from DATABASE_URL, or add it to the pooler's ignore_startup_parameters`
  if (message.startsWith('no such database'))
    return 'the pooler before it does not know this database. Add it there, or correct DATABASE_URL'
  if (/^(no such user|password authentication failed|SASL authentication failed)/.test(message))
    return permanent['28P01']
  return undefined
}
