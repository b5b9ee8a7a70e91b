import { type GatewayDatabase } from '@tollgate/database'
import { fixedIn, planChanges, providerChanges, type Change } from './changes'
import { type CatalogFile } from './file'
import { planRow, providerRow, storedPlan, storedProvider, type PlanRow } from './rows'
import { CatalogProblem } from './yaml'

/** Longer than those who wait for another to finish may have to. */
const TIMEOUT_MS = 60_000

type Transaction = Parameters<Parameters<GatewayDatabase['prisma']['$transaction']>[0]>[0]

/**
 * Makes the database's plans and providers those of the file, in one transaction that excludes others who do so, and
 * waits ten seconds for one of them. Doing it twice changes nothing. What the file leaves out is retired, never deleted.
 * With `dryRun` nothing is written.
 *
 * @returns a line for each thing that was changed
 * @throws CatalogProblem where a plan that was used would be paid for in something else; what Postgres says of a
 *   lock timeout where another does not come to its end
 */
export async function applyCatalog(
  { prisma }: GatewayDatabase,
  file: CatalogFile,
  { dryRun = false } = {},
): Promise<string[]> {
  const apply = async (transaction: Transaction) => {
    if (dryRun) await transaction.$executeRaw`SET TRANSACTION READ ONLY`
    // Longer than the connections of a gateway wait, which belong to callers.
    await transaction.$executeRaw`SET LOCAL lock_timeout = '10s'`
    await transaction.$executeRaw`SELECT pg_advisory_xact_lock(hashtext('tollgate catalog'))`

    const times = { createdAt: true, updatedAt: true } as const
    const sold = (await transaction.plan.findMany({ omit: times })).map(storedPlan)
    const used = await transaction.provider.findMany({ omit: { ...times, id: true }, orderBy: { id: 'asc' } })
    const plans = planChanges(sold, file.plans.map(planRow))
    const providers = providerChanges(used.map(storedProvider), file.providers.map(providerRow))
    await mustKeepWhatWasBought(transaction, plans, dryRun)

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
  return prisma.$transaction(apply, { maxWait: TIMEOUT_MS, timeout: TIMEOUT_MS })
}

async function mustKeepWhatWasBought(
  transaction: Transaction,
  changes: readonly Change<PlanRow>[],
  dryRun: boolean,
) {
  const refusals: string[] = []
  for (const change of changes) {
    const fields = fixedIn(change)
    if (fields.length === 0) continue
    const { id } = change.wanted
    // Nobody signs in on the plan while it changes. A dry run may not lock, and need not.
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
  if (refusals.length > 0) throw new CatalogProblem(`The catalog was not applied:\n${refusals.join('\n')}`)
}
