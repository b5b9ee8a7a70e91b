import { isObject, type Entry } from './rpc-methods'

/**
 * The entries of a batch and the responses with one id, by their places. Where there are as many of one as of the other, they
 * belong together in their order.
 */
export type Match = { entries: number[]; responses: number[] }

/** Entries without an `id` are notifications, which have no response. */
export const isAsked = (entry: unknown): entry is Entry => isObject(entry) && entry.id !== undefined

/** An id is compared as JSON; a response whose id no entry has is in a match without entries. */
export function matchResponses(entries: readonly unknown[], responses: readonly unknown[]): Match[] {
  const matches = new Map<string, Match>()
  const matchOf = (id: unknown) => {
    const key = JSON.stringify(id)
    const existing = matches.get(key)
    if (existing) return existing
    const created: Match = { entries: [], responses: [] }
    matches.set(key, created)
    return created
  }
  for (const [place, entry] of entries.entries()) if (isAsked(entry)) matchOf(entry.id).entries.push(place)
  for (const [place, response] of responses.entries())
    matchOf(isObject(response) ? (response.id ?? null) : null).responses.push(place)
  return [...matches.values()]
}
