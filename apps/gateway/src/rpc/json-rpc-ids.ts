import { memberTexts } from '@tollgate/protocol'
import { isObject } from './rpc-methods'

/** Undefined for a notification, which gets no answer. */
type Id = string | number | null | undefined
/** A list for a batch: one for each entry. */
export type JsonRpcIds = Id | readonly Id[]

const MAX_ID_LENGTH = 256

/** Of an invalid request null, as JSON-RPC has it: only an object without `id` is a notification. */
export const idsOf = (body: unknown): JsonRpcIds => (Array.isArray(body) ? body.map(idOf) : idOf(body))

function idOf(entry: unknown): Id {
  if (!isObject(entry)) return null
  const { id } = entry
  if (id === undefined) return typeof entry['method'] === 'string' ? undefined : null
  const isValid = typeof id === 'number' || (typeof id === 'string' && id.length <= MAX_ID_LENGTH)
  return isValid ? id : null
}

/** Whether some id is a number that may have lost digits when it was parsed. */
export const areInexact = (ids: JsonRpcIds): boolean =>
  Array.isArray(ids) ? ids.some(isInexact) : isInexact(ids as Id)

const isInexact = (id: Id) => typeof id === 'number' && !Number.isSafeInteger(id)

/**
 * Each id as JSON. Inexact numbers are as `text` has them, the JSON that was sent: a client looks for the id that it wrote.
 */
export function idTextsOf(ids: JsonRpcIds, text: string): (string | undefined)[] {
  const list = [ids].flat()
  const entries = areInexact(list) ? entryTexts(text.trimStart()) : []
  return list.map((id, index) => {
    if (id === undefined) return undefined
    return isInexact(id) ? idTextIn(entries[index] ?? '') : JSON.stringify(id)
  })
}

export function idTextIn(entry: string): string {
  for (const [name, text] of memberTexts(entry))
    if (name === 'id') return text.length <= MAX_ID_LENGTH ? text : 'null'
  return 'null'
}

const STRINGS_AND_STRUCTURE = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]/g

/** The elements of a batch, or the only request. */
export function entryTexts(text: string): string[] {
  if (!text.startsWith('[')) return [text]
  const entries: string[] = []
  let depth = 0
  let start = 1
  for (const { 0: token, index } of text.matchAll(STRINGS_AND_STRUCTURE)) {
    if (token === '[' || token === '{') depth++
    else if (token === ']' || token === '}') depth--
    else if (token !== ',') continue
    if (depth === 0 || (depth === 1 && token === ',')) {
      entries.push(text.slice(start, index))
      start = index + 1
    }
  }
  return entries
}
