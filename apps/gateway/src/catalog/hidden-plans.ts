import { caip2 } from '@tollgate/protocol'
import { fitOffers } from '../payments/fit-offers'
import { transferMethodsOf } from './catalog'
import { type CatalogFile } from './catalog-file'
import { planRow } from './rows'

/** A line for each chain whose 402 has no room for all plans on sale, with the ids of those that only `GET /pricing` shows. */
export function hiddenPlans({ plans, providers }: CatalogFile): string[] {
  const offers = plans
    .filter(({ active }) => active)
    .map((entry) => {
      const row = planRow(entry)
      const plan = { ...row, ecosystem: entry.ecosystem, amount: BigInt(row.amount) }
      return { plan: { ...plan, transferMethods: transferMethodsOf(row) }, feePayer: undefined }
    })
  const chains = providers.filter(({ active }) => active)
  const ids = new Set(
    chains.map(({ category, chain_id }) => caip2({ ecosystem: category, chainId: chain_id })),
  )
  return [...ids].flatMap((chain) => {
    const shown = new Set(fitOffers(offers, chain).map(({ plan }) => plan.id))
    const hidden = offers.map(({ plan }) => plan.id).filter((id) => !shown.has(id))
    if (hidden.length === 0) return []
    return [
      `a 402 for ${chain} has room for ${shown.size} of ${offers.length} plans; only GET /pricing shows ${hidden.join(', ')}`,
    ]
  })
}
