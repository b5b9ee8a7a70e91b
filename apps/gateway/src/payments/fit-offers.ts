import { caip2 } from '@tollgate/protocol'
import { type Plan } from '../catalog/catalog'
import { encodedLength } from '../extensions/fit-extensions'
import { offersOf, type Offer } from './requirements'

/** Counts base64, and leaves room for the resource and the extensions of a 402. */
const MAX_ACCEPTS_LENGTH = 2_600

/**
 * The offers that fit into the header of a 402 for a call to `chain`: up to half of the room for its own plans, then the smallest
 * bundle of each asset, then others; at least one. In each group the smallest bundles come first. EVM offers come first in the
 * header, and among them those of the chain: public clients sign in only on the network of the first.
 */
export function fitOffers(offers: readonly Offer[], chain: string): Offer[] {
  const smallest = new Set(smallestOfAssets(offers.map(({ plan }) => plan)))
  const isOwn = ({ plan }: Offer) => caip2(plan) === chain
  const isSmallest = ({ plan }: Offer) => smallest.has(plan)
  const ranked = offers.toSorted(
    (one, other) =>
      evmFirst(one, other) ||
      Number(isOwn(other)) - Number(isOwn(one)) ||
      Number(isSmallest(other)) - Number(isSmallest(one)) ||
      one.plan.id - other.plan.id,
  )
  const fitting = new Set<Offer>()
  let length = 0
  const fill = (candidates: Offer[], limit: number) => {
    for (const offer of candidates) {
      const added = lengthOf(offer)
      if (fitting.has(offer) || (fitting.size > 0 && length + added > limit)) continue
      fitting.add(offer)
      length += added
    }
  }
  fill(ranked.filter(isOwn), MAX_ACCEPTS_LENGTH / 2)
  fill(
    ranked.filter((offer) => isSmallest(offer) && !isOwn(offer)),
    MAX_ACCEPTS_LENGTH,
  )
  fill(ranked, MAX_ACCEPTS_LENGTH)
  return ranked.filter((offer) => fitting.has(offer))
}

/** Has room for a fee payer, whether or not the facilitator names one just now. */
const lengthOf = ({ plan }: Offer) =>
  encodedLength(offersOf({ plan, feePayer: { address: plan.payTo, signs: true } }))

function smallestOfAssets(plans: readonly Plan[]): Plan[] {
  const smallest = new Map<string, Plan>()
  for (const plan of plans) {
    const asset = `${caip2(plan)} ${plan.asset}`
    const known = smallest.get(asset)
    if (!known || plan.amount < known.amount) smallest.set(asset, plan)
  }
  return [...smallest.values()]
}

const evmFirst = ({ plan: one }: Offer, { plan: other }: Offer) =>
  Number(other.ecosystem === 'evm') - Number(one.ecosystem === 'evm')
