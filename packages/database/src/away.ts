/** What may pass by itself, by the code of the system, of Postgres, or of Prisma's adapter where that leaves no other. */
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
  '08000': 'it hung up',
  '08003': 'it hung up',
  '08006': 'it hung up',
  '57P01': 'it is shutting down',
  '57P02': 'it crashed',
  '57P03': 'it is starting up or shutting down',
  '53300': 'all its connections are taken',
  '28000': 'it does not let us in',
  '28P01': 'it does not let us in',
  '3D000': 'the database does not exist',
}

/** What the driver, its pool and Prisma say without a code of their own, the more exact first. */
const byMessage: readonly [words: RegExp, reason: string][] = [
  [/^timeout expired|due to connection timeout|^Query read timeout/, 'it does not answer'],
  [/^timeout exceeded when trying to connect|Unable to start a transaction/, 'no connection was to be had'],
  [/^Connection terminated|^Client has encountered a connection error/, 'it hung up'],
  [/^Cannot use a pool after calling end/, 'its connections are closed, for this process is stopping'],
]

/** Prisma's for a transaction that found no connection, and for others that only their words tell apart. */
const OF_TRANSACTIONS = 'P2028'

/** How grave Postgres calls an error that ends the session, or does not let it begin. */
const ends = ['FATAL', 'PANIC']

/**
 * Why Postgres was not reached, ended the session or fell silent, as a sentence for a log; undefined for every other error,
 * above all for a statement that it refused. Knows the errors of the pool and of Prisma. What was under way may have been
 * committed.
 */
export function reasonAway(error: unknown): string | undefined {
  const reason = reasonIn(error)
  return reason && `Postgres: ${reason}`
}

/** The same without its subject. */
export function reasonIn(error: unknown): string | undefined {
  if (!isError(error)) return undefined
  const { message, syscall, meta } = error
  const { originalCode, kind, severity = error.severity } = meta?.driverAdapterError?.cause ?? {}
  const code = originalCode ?? kind ?? error.code
  if (code === undefined || code === OF_TRANSACTIONS)
    return byMessage.find(([words]) => words.test(message))?.[1]
  // A file may be missing too.
  if (code === 'ENOENT' && syscall !== 'connect') return undefined
  return byCode[code] ?? (ends.includes(severity ?? '') ? `it ended the session (${code})` : undefined)
}

type Told = {
  message: string
  code?: string
  syscall?: string
  severity?: string
  meta?: { driverAdapterError?: { cause?: { kind?: string; originalCode?: string; severity?: string } } }
}

const isError = (error: unknown): error is Told =>
  typeof error === 'object' && error !== null && 'message' in error && typeof error.message === 'string'
