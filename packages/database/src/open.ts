import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient as FacilitatorClient } from './generated/facilitator/client'
import { PrismaClient as GatewayClient } from './generated/gateway/client'
import { openPool, type OpenOptions, type OpenPool } from './pool'

export type Database<PrismaClient> = {
  prisma: PrismaClient
  /** Returns `bigint` columns and counts as bigint, `numeric` as string, timestamps as UTC Dates. */
  pool: OpenPool['pool']
  /** Waits up to two seconds for queries in flight, then closes their connections. Idempotent. */
  close: () => Promise<void>
}
export type GatewayDatabase = Database<GatewayClient>
export type FacilitatorDatabase = Database<FacilitatorClient>

/** The gateway locks an account for milliseconds, so a longer lock is stuck and must not block other calls. */
const LOCK_TIMEOUT_MS = 2_000

/** The first query connects; `waitForDatabase` checks the connection before that. */
export function openGatewayDatabase(options: OpenOptions): GatewayDatabase {
  const { pool, end } = openPool({ lockTimeoutMs: LOCK_TIMEOUT_MS, ...options }, 'tollgate-gateway')
  const prisma = new GatewayClient({ adapter: new PrismaPg(pool) })
  return { prisma, pool, close: closeOnce(prisma, end) }
}

export function openFacilitatorDatabase(options: OpenOptions): FacilitatorDatabase {
  const { pool, end } = openPool(options, 'tollgate-facilitator')
  const prisma = new FacilitatorClient({ adapter: new PrismaPg(pool) })
  return { prisma, pool, close: closeOnce(prisma, end) }
}

function closeOnce(prisma: { $disconnect: () => Promise<void> }, end: () => Promise<void>) {
  let closed: Promise<void> | undefined
  const close = async () => {
    try {
      await prisma.$disconnect()
    } finally {
      await end()
    }
  }
  return () => (closed ??= close())
}
