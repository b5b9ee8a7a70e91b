import { DatabaseError } from 'pg'

const LOCK_NOT_AVAILABLE = '55P03'
const QUERY_CANCELED = '57014'
/** Cardinality, data, integrity, rollback, statement limits, and errors raised by triggers. */
const ROLLED_BACK_CLASSES = ['21', '22', '23', '40', '54', 'P0']
const COMPLETION_UNKNOWN = '40003'

/** Whether Postgres reported that this statement failed. After any other error, such as a broken connection, it may be committed. */
export function isRolledBack(error: unknown): boolean {
  const code = error instanceof DatabaseError ? (error.code ?? '') : ''
  if (code === COMPLETION_UNKNOWN) return false
  return [LOCK_NOT_AVAILABLE, QUERY_CANCELED].includes(code) || ROLLED_BACK_CLASSES.includes(code.slice(0, 2))
}
