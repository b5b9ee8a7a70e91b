import { openLedgerQueries } from '@tollgate/e2e/testing/ledger-queries'
import { applyCatalog } from '@tollgate/e2e/testing/catalog'
import { type Customer } from '@tollgate/e2e/testing/customers'
import { until } from '@tollgate/e2e/testing/paying'
import { startCountingUpstream } from '@tollgate/e2e/testing/upstream'
import { startWorld } from '@tollgate/e2e/testing/world'
import { type Family } from './family'
import { type Load } from './load'
import { type PayingChain } from './paying-chain'
import { type Stage } from './scenario'

/** In smallest units: more than a customer can spend in the longest run. */
const MONEY = 100_000_000n
/** Differs from the world's own plans. */
const OWN_PLAN = 10

export async function startLoadedWorld<C extends PayingChain>(
  { signal, closeLater }: Pick<Stage, 'signal' | 'closeLater'>,
  family: Family<C>,
  { count, credits }: { count: number; credits: number },
) {
  const starting = startWorld({ signal, overrides: family.overrides() })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const world = await starting
  const upstream = await startCountingUpstream()
  closeLater(() => upstream.stop())
  const ledger = openLedgerQueries(world.infrastructure.postgres.gateway)
  closeLater(() => ledger.close())
  const chain = await family.open(world)
  closeLater(() => chain.close())

  const plan = { ...family.planOf(world), id: OWN_PLAN, credits }
  await applyCatalog(world, { plans: [plan], upstreamUrl: upstream.url })
  const customers: Customer[] = []
  while (customers.length < count) customers.push(await family.newCustomer(world, plan, MONEY))
  return { world, upstream, ledger, chain, plan, customers }
}

export async function answers(load: Load, count: number) {
  const already = load.answered()
  await until(
    () => Promise.resolve(load.answered()),
    (now) => now >= already + count,
    60,
  )
}
