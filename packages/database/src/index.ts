export { reasonAway } from './away'
export { openFacilitatorDatabase, openGatewayDatabase } from './open'
export type { Database, FacilitatorDatabase, GatewayDatabase } from './open'
export { QUERY_TIMEOUT_MS } from './pool'
export type { OpenOptions } from './pool'
export { createDatabase } from './databases'
export { migrate } from './migrations/migrate'
export type { MigrateOptions, Progress } from './migrations/migrate'
export type { Service } from './migrations/folder'
export { DatabaseProblem } from './problem'
export { runRetention } from './retention'
export type { RetentionOptions, RetentionReport, RetentionStep, RetentionTask } from './retention'
export { waitForDatabase } from './wait'
export type { Waiting } from './wait'

/** The driver's own types and error, for hot SQL over `pool`. */
export { DatabaseError } from 'pg'
export type { Pool, PoolClient } from 'pg'

/** Per service: the `Prisma` namespace (errors, `sql`, input types), and the type of each model. */
export { Prisma as GatewayPrisma } from './generated/gateway/client'
export type * as GatewayModels from './generated/gateway/client'
export { Prisma as FacilitatorPrisma } from './generated/facilitator/client'
export type * as FacilitatorModels from './generated/facilitator/client'
