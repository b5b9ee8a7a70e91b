import { type GatewayDatabase } from '@tollgate/database'
import { changedFixedFields, planChanges, providerChanges, type Change } from './catalog-diff'
import { type CatalogFile } from './catalog-file'
import { planRow, providerRows, storedPlan, storedProvider, type PlanRow } from './rows'
import { CatalogError } from './yaml-diagnostics'

/** Must exceed the lock timeout below. */
const TRANSACTION_TIMEOUT_MS = 60_000

type Transaction = Parameters<Parameters<GatewayDatabase['prisma']['$transaction']>[0]>[0]

/**
 * Replaces the plans and providers in the database by those of the file. Idempotent. Entries that the file omits are retired,
 * never deleted. One transaction at a time; another one waits ten seconds, then fails with a lock timeout.
 *
 * @returns a line for each change
 * @throws CatalogError if the asset or chain of a used plan would change
 */
export async function applyCatalog(
  { prisma }: GatewayDatabase,
  file: CatalogFile,
  { dryRun = false } = {},
): Promise<string[]> {
  const apply = async (transaction: Transaction) => {
    if (dryRun) await transaction.$executeRaw`SET TRANSACTION READ ONLY`
    // Longer than the lock timeout of a gateway's connections, which serve callers.
    await transaction.$executeRaw`SET LOCAL lock_timeout = '10s'`
    await transaction.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('tollgate catalog'))`

    const times = { createdAt: true, updatedAt: true } as const
    const storedPlans = (await transaction.plan.findMany({ omit: times })).map(storedPlan)
    const storedProviders = await transaction.provider.findMany({
      omit: { ...times, id: true },
      orderBy: { id: 'asc' },
    })
    const plans = planChanges(storedPlans, file.plans.map(planRow))
    const providers = providerChanges(storedProviders.map(storedProvider), providerRows(file.providers))
    await assertPurchasedFieldsUnchanged(transaction, plans, dryRun)

    if (!dryRun) {
      for (const { wanted } of plans) {
        const { id, ...data } = wanted
        await transaction.plan.upsert({ where: { id }, create: wanted, update: data })
      }
      for (const { wanted } of providers) {
        const { key, category, chainId } = wanted
        const where = { key_category_chainId: { key, category, chainId } }
        await transaction.provider.upsert({ where, create: wanted, update: wanted })
      }
    }
    return [...plans, ...providers].flatMap(({ lines }) => lines)
  }
  return prisma.$transaction(apply, { maxWait: TRANSACTION_TIMEOUT_MS, timeout: TRANSACTION_TIMEOUT_MS })
}

async function assertPurchasedFieldsUnchanged(
  transaction: Transaction,
  changes: readonly Change<PlanRow>[],
  dryRun: boolean,
) {
  const refusals: string[] = []
  for (const change of changes) {
    const fields = changedFixedFields(change)
    if (fields.length === 0) continue
    const { id } = change.wanted
    // Blocks sign-ins on the plan until the change is committed. A dry run is read-only and cannot lock.
    if (!dryRun) await transaction.$executeRaw`SELECT FROM pricing_plans WHERE id = ${id} FOR UPDATE`
    const where = { planId: id }
    const used =
      (await transaction.session.findFirst({ where })) ??
      (await transaction.account.findFirst({ where })) ??
      (await transaction.payment.findFirst({ where }))
    if (used)
      refusals.push(
        `  plan ${id}: ${fields.join(', ')} cannot change, for wallets have signed in on it; leave the plan out, which retires it, and add another with a new id`,
      )
  }
  if (refusals.length > 0) throw new CatalogError(`The catalog was not applied:\n${refusals.join('\n')}`)
}
