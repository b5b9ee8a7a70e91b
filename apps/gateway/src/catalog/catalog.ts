import { type GatewayDatabase } from '@tollgate/database'
import { Ecosystem } from '@tollgate/protocol'
import { z } from 'zod'

/** `amount` in smallest units of the asset. */
export type Plan = {
  id: number
  name: string
  network: string
  chainId: string
  ecosystem: Ecosystem
  asset: string
  assetName: string | null
  assetVersion: string | null
  amount: bigint
  decimals: number
  displayDenom: string
  credits: number
  payTo: string
  maxTimeoutSeconds: number
  active: boolean
}

/** `methods`: the cost in credits of each method that does not cost one. */
export type Provider = {
  id: number
  key: string
  category: Ecosystem
  chainId: string
  rpc: string[]
  rest: string[]
  description: string
  methods: Record<string, number>
}

/** A retired plan is sold for this long at most. */
const MAX_AGE_MS = 1_000

const Methods = z.record(z.string(), z.int().min(1))

export type Catalog = ReturnType<typeof createCatalog>

export function createCatalog({ prisma }: GatewayDatabase, now: () => Date) {
  const plans = cached(now, async () =>
    (await prisma.plan.findMany({ orderBy: { id: 'asc' } })).map((row): Plan => ({
      ...row,
      ecosystem: Ecosystem.parse(row.ecosystem),
      amount: BigInt(row.amount.toFixed()),
    })),
  )
  const providers = cached(now, async () =>
    (await prisma.provider.findMany({ where: { active: true }, orderBy: { id: 'asc' } })).map(
      (row): Provider => ({
        ...row,
        category: Ecosystem.parse(row.category),
        methods: Methods.parse(row.methods),
      }),
    ),
  )

  return {
    getActivePlans: async () => (await plans()).filter((plan) => plan.active),
    /** Includes retired plans, whose credits can still be spent. */
    findPlan: async (id: number) => (await plans()).find((plan) => plan.id === id),
    getProviders: providers,
    findProviders: async (category: string, chainId: string) =>
      (await providers()).filter(
        (provider) => provider.category === category && provider.chainId === chainId,
      ),
  }
}

/** Shares one read for MAX_AGE_MS. A failed read is not cached. */
function cached<T>(now: () => Date, read: () => Promise<T>): () => Promise<T> {
  let latest: { at: number; value: Promise<T> } | undefined
  return async () => {
    const at = now().getTime()
    if (latest && at >= latest.at && at - latest.at < MAX_AGE_MS) return latest.value
    const reading = { at, value: read() }
    latest = reading
    reading.value.catch(() => {
      if (latest === reading) latest = undefined
    })
    return reading.value
  }
}
