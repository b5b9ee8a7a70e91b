import { openBooks } from '../testing/books'
import { applyCatalog } from '../testing/catalog'
import { tokenAt } from '../testing/chain'
import { newCustomer, type Customer } from '../testing/customers'
import { until } from '../testing/paying'
import { startCountingUpstream } from '../testing/upstream'
import { startWorld } from '../testing/world'
import { type Load } from './load'
import { type Stage } from './scenario'

/** Of USDC's smallest unit: what no customer can spend in the longest run. */
const MONEY = 100_000_000n

/** A world with an upstream that counts, a plan that is soon used up, and so many customers who are signed in. */
export async function startLoadedWorld(
  { signal, closeLater }: Pick<Stage, 'signal' | 'closeLater'>,
  { count, credits }: { count: number; credits: number },
) {
  const starting = startWorld({ signal })
  closeLater(async () => (await starting.catch(() => undefined))?.stop())
  const world = await starting
  const upstream = await startCountingUpstream()
  closeLater(() => upstream.stop())
  const books = openBooks(world.foundation.postgres.gateway)
  closeLater(() => books.close())
  const token = tokenAt(world.foundation.rpcUrl)
  closeLater(() => token.close())

  const plan = { ...world.plan, id: 2, credits }
  await applyCatalog(world, { plans: [plan], upstreamUrl: upstream.url })
  await until(
    async () => (await fetch(`${world.gateway.url}/pricing/${plan.id}`)).status,
    (status) => status === 200,
  )
  const customers: Customer[] = []
  while (customers.length < count) customers.push(await newCustomer(world, plan, MONEY))
  return { world, upstream, books, token, plan, customers }
}

/** Resolves when so many more calls were answered. */
export async function answers(load: Load, count: number) {
  const already = load.answered()
  await until(
    () => Promise.resolve(load.answered()),
    (now) => now >= already + count,
    60,
  )
}
