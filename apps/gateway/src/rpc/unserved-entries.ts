import { isObject, methodMembers, methodNameOf, type Entry } from './rpc-methods'
import { type MethodWeights } from './bill'
import { type BatchResponses } from './upstream/classify-answer'
import { parseJson } from './upstream/parse-json'

/**
 * The credits of those entries of a batch that no node answered: a provider refused them, or the node answered the batch as a
 * whole. Entries that have no response and no `id` are notifications, and served.
 */
export function creditsOfUnserved(
  payload: Buffer,
  { responses, refused }: BatchResponses,
  weights: MethodWeights,
): number {
  const body = parseJson(payload.toString())
  if (!Array.isArray(body)) return 0
  const asked = body.filter((entry): entry is Entry => isObject(entry) && entry.id !== undefined)
  const costs = new Map<string, number[]>()
  for (const entry of asked) {
    const id = JSON.stringify(entry.id)
    costs.set(id, [...(costs.get(id) ?? []), costOfEntry(entry, weights)])
  }
  let credits = 0
  for (const [index, response] of responses.entries()) {
    const cost = costs.get(isObject(response) ? JSON.stringify(response.id) : 'null')?.shift()
    if (refused.has(index)) credits += cost ?? 0
  }
  const missing = Math.max(0, asked.length - responses.length)
  // A node may write an `id` in another way: the cheapest are taken for those that it did not answer.
  const unmatched = [...costs.values()].flat().sort((one, other) => one - other)
  return unmatched.slice(0, missing).reduce((sum, cost) => sum + cost, credits)
}

const costOfEntry = (entry: Entry, weights: MethodWeights) =>
  Math.max(
    1,
    ...methodMembers(entry).map(([, name]) => {
      const method = methodNameOf(name)
      return Object.hasOwn(weights, method) ? (weights[method] ?? 1) : 1
    }),
  )
