import { isCertificateError } from './tls'

/** Reasons by error code: of the system, of Postgres, or of Prisma's adapter. */
const byCode: Record<string, string> = {
  ECONNREFUSED: 'nothing listens there',
  ENOENT: 'nothing listens there',
  DatabaseNotReachable: 'nothing listens there',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name could not be looked up',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the network cannot be reached',
  ETIMEDOUT: 'it does not answer',
  SocketTimeout: 'it does not answer',
  ECONNRESET: 'it hung up',
  EPIPE: 'it hung up',
  ConnectionClosed: 'it hung up',
  '25006': 'it is read-only: a standby, or default_transaction_read_only is on',
  '57P01': 'it is shutting down',
  '57P02': 'it crashed',
  '57P03': 'it is starting up or shutting down',
  '53300': 'all its connections are taken',
  '53400': 'one of its limits is reached',
  '28000': 'it does not let us in',
  '28P01': 'it does not let us in',
  '3D000': 'the database does not exist',
}

/** Reasons by class of SQLSTATE, for codes without a reason of their own. */
const byClass: Record<string, string> = {
  '08': 'it hung up',
  '53': 'it has no memory or disk left',
}
/** A protocol violation is an error of ours, unless it ends the session: PgBouncer has this code for all its errors. */
const PROTOCOL_VIOLATION = '08P01'

/** Reasons for errors of the driver, its pool and Prisma without a code; more specific patterns first. */
const byMessage: readonly [words: RegExp, reason: string][] = [
  [/^timeout expired|due to connection timeout|^Query read timeout/, 'it does not answer'],
  [/^timeout exceeded when trying to connect|Unable to start a transaction/, 'no connection was to be had'],
  [/^Connection terminated|^Client has encountered a connection error/, 'it hung up'],
  [/^Cannot use a pool after calling end/, 'its connections are closed, for this process is stopping'],
]

/** Prisma's code for several transaction errors, which only their messages tell apart. */
const TRANSACTION_ERROR = 'P2028'

const SESSION_ENDING = ['FATAL', 'PANIC']

/**
 * Why Postgres is unavailable, for a log; undefined for every other error, such as a failed statement. The transaction in
 * flight may have been committed.
 */
export function unavailableReason(error: unknown): string | undefined {
  const reason = connectionErrorReason(error)
  return reason && `Postgres: ${reason}`
}

export function connectionErrorReason(error: unknown): string | undefined {
  if (!isError(error)) return undefined
  const { message, syscall, meta } = error
  const { originalCode, kind, severity = error.severity } = meta?.driverAdapterError?.cause ?? {}
  const code = originalCode ?? kind ?? error.code
  if (code === undefined || code === TRANSACTION_ERROR)
    return byMessage.find(([words]) => words.test(message))?.[1]
  // ENOENT can also be a missing file.
  if (code === 'ENOENT' && syscall !== 'connect') return undefined
  if (isCertificateError(code)) return 'its certificate is not trusted'
  const isSessionEnded = SESSION_ENDING.includes(severity ?? '')
  if (code === PROTOCOL_VIOLATION)
    return isSessionEnded ? `the pooler ended the session (${withoutNames(message)})` : undefined
  return (
    byCode[code] ??
    (/^[\dA-Z]{5}$/.test(code) ? byClass[code.slice(0, 2)] : undefined) ??
    (isSessionEnded ? `it ended the session (${code})` : undefined)
  )
}

/** PgBouncer repeats errors of the server, which quote the user. */
const withoutNames = (message: string) => message.replace(/"[^"]*"/g, '"…"')

type ErrorLike = {
  message: string
  code?: string
  syscall?: string
  severity?: string
  meta?: { driverAdapterError?: { cause?: { kind?: string; originalCode?: string; severity?: string } } }
}

const isError = (error: unknown): error is ErrorLike =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'
