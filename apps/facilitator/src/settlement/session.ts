import { type Pool, type PoolClient } from '@tollgate/database'

/** Runs statements: the pool, or the connection of an open database transaction. */
export type Session = Pick<Pool | PoolClient, 'query'>
