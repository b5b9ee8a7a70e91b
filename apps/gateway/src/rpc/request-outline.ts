import { isMethodKey, isObject, type Entry } from './rpc-methods'

/** Keeps only the members that can be read as `method`: a payload can have thousands of members, and pricing walks it repeatedly. */
export function outlineOf(body: unknown): unknown {
  if (!isObject(body)) return body
  const { ecosystem, chain_id, resource, method, transport, payload } = body
  return { ecosystem, chain_id, resource, method, transport, payload: outlineOfPayload(payload) }
}

export const outlineOfPayload = (payload: unknown): unknown =>
  Array.isArray(payload) ? payload.map(entryOutline) : entryOutline(payload)

function entryOutline(entry: unknown): unknown {
  if (!isObject(entry)) return entry
  const outline: Entry = {}
  for (const name in entry) if (isMethodKey(name)) outline[name] = entry[name]
  return outline
}
