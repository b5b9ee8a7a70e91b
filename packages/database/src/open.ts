import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient as FacilitatorClient } from './generated/facilitator/client'
import { PrismaClient as GatewayClient } from './generated/gateway/client'
import { openPool, type OpenOptions, type OpenPool } from './pool'

/** One Prisma client and one pool over the same connections. */
export interface Database<PrismaClient> {
  prisma: PrismaClient
  /** For hot SQL. `bigint` columns and counts arrive as bigint, `numeric` as string, both timestamps as UTC Dates. */
  pool: OpenPool['pool']
  /** Waits up to two seconds for work under way, then cuts what is left. Safe to call twice. */
  close: () => Promise<void>
}
export type GatewayDatabase = Database<GatewayClient>
export type FacilitatorDatabase = Database<FacilitatorClient>

/** The gateway's accounts are held for milliseconds; who holds one for longer is stuck, and others must not wait with it. */
const LOCK_TIMEOUT_MS = 2_000

/** Opens nothing yet: the first query connects. `waitForDatabase` tells beforehand whether it can. */
export function openGatewayDatabase(options: OpenOptions): GatewayDatabase {
  const { pool, end } = openPool({ lockTimeoutMs: LOCK_TIMEOUT_MS, ...options }, 'tollgate-gateway')
  const prisma = new GatewayClient({ adapter: new PrismaPg(pool) })
  return { prisma, pool, close: closing(prisma, end) }
}

/** As `openGatewayDatabase`, for the facilitator's database. */
export function openFacilitatorDatabase(options: OpenOptions): FacilitatorDatabase {
  const { pool, end } = openPool(options, 'tollgate-facilitator')
  const prisma = new FacilitatorClient({ adapter: new PrismaPg(pool) })
  return { prisma, pool, close: closing(prisma, end) }
}

function closing(prisma: { $disconnect: () => Promise<void> }, end: () => Promise<void>) {
  let closed: Promise<void> | undefined
  return () => (closed ??= prisma.$disconnect().finally(end))
}
