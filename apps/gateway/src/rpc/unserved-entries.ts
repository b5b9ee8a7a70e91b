import { methodMembers, methodNameOf, type Entry } from './rpc-methods'
import { type MethodWeights } from './bill'
import { isAsked, matchResponses } from './match-responses'
import { type BatchResponses } from './upstream/classify-answer'
import { parseJson } from './upstream/parse-json'
import { isOfTheCall } from './upstream/provider-refusals'

/** `provoked`: those of entries that were refused for what they ask. */
type Unserved = { credits: number; provoked: number }

const NOTHING: Unserved = { credits: 0, provoked: 0 }

/**
 * The credits of those entries of a batch that no node answered: a provider refused them, or the node answered the batch as a
 * whole. Where it cannot be told which of several entries with one id was answered, the cheapest are taken for those that were not.
 */
export function creditsOfUnserved(
  payload: Buffer,
  { responses, refused }: BatchResponses,
  weights: MethodWeights,
): Unserved {
  const body = parseJson(payload.toString())
  if (!Array.isArray(body)) return NOTHING
  const unserved = { ...NOTHING }
  const add = (cost: number | undefined, place?: number) => {
    const kind = place === undefined ? undefined : refused.get(place)
    unserved.credits += cost ?? 0
    if (kind && isOfTheCall(kind)) unserved.provoked += cost ?? 0
  }
  const unmatched: number[] = []
  const refusedWithoutEntry: number[] = []
  for (const match of matchResponses(body, responses)) {
    const costs = match.entries.map((place) => costOfEntry(body[place] as Entry, weights))
    const { refusedAt, servedAt } = splitByRefusal(match.responses, refused)
    if (costs.length === match.responses.length) {
      for (const [order, place] of match.responses.entries()) if (refused.has(place)) add(costs[order], place)
      continue
    }
    costs.sort(ascending)
    const paid = Math.min(costs.length, servedAt.length)
    const left = costs.slice(0, costs.length - paid)
    for (const place of refusedAt) {
      if (left.length > 0) add(left.shift(), place)
      else refusedWithoutEntry.push(place)
    }
    unmatched.push(...left)
  }
  unmatched.sort(ascending)
  for (const place of refusedWithoutEntry) add(unmatched.shift(), place)
  const missing = Math.max(0, body.filter(isAsked).length - responses.length)
  for (const cost of unmatched.slice(0, missing)) add(cost)
  return unserved
}

const ascending = (one: number, other: number) => one - other

function splitByRefusal(places: readonly number[], refused: BatchResponses['refused']) {
  return {
    refusedAt: places.filter((place) => refused.has(place)),
    servedAt: places.filter((place) => !refused.has(place)),
  }
}

const costOfEntry = (entry: Entry, weights: MethodWeights) =>
  Math.max(
    1,
    ...methodMembers(entry).map(([, name]) => {
      const method = methodNameOf(name)
      return Object.hasOwn(weights, method) ? (weights[method] ?? 1) : 1
    }),
  )
