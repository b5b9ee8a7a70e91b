import { type RpcRequest } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Provider } from '../catalog/catalog'

/** A `read` can always be retried, an `idempotent` write if it was not executed, a `write` never. */
export type CallKind = 'read' | 'idempotent' | 'write'

const IDEMPOTENT_WRITES = /^(eth_sendRawTransaction|broadcast_tx_(sync|async|commit)|broadcast_evidence)$/
const WRITES =
  /^(\w+_(send|submit|cancel|set)|(personal|account|wallet|engine|miner|admin|anvil|hardhat|evm|unsafe|dial)_)/

/** Keeps only the members that can be read as `method`: a payload can have thousands of members, and pricing walks it repeatedly. */
export function outlineOf(body: unknown): unknown {
  if (!isObject(body)) return body
  const { ecosystem, chain_id, resource, method, transport, payload } = body
  const outline = Array.isArray(payload) ? payload.map(entryOutline) : entryOutline(payload)
  return { ecosystem, chain_id, resource, method, transport, payload: outline }
}

function entryOutline(entry: unknown): unknown {
  if (!isObject(entry)) return entry
  const outline: Entry = {}
  for (const name in entry) if (isMethodKey(name)) outline[name] = entry[name]
  return outline
}

const isObject = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Go matches member names in any letter case. */
const isMethodKey = (name: string) => name.length === 6 && name.toLowerCase() === 'method'

const METHOD_NAME = /^[\x21-\x7e]{1,128}$/
const methodNameOf = (method: unknown) =>
  typeof method === 'string' && METHOD_NAME.test(method) ? method : 'unknown'

type Entry = Record<string, unknown>
const entriesOf = ({ payload }: RpcRequest): Entry[] => [payload].flat()

/** One method for each entry of a batch; the path names the method of an entry without one. Empty for REST. */
export const methodsOf = (call: RpcRequest): string[] =>
  call.transport === 'rest'
    ? []
    : entriesOf(call).map(({ method = methodOfPath(call.resource) }) => methodNameOf(method))

function methodOfPath(resource: string): string | undefined {
  const [path = ''] = resource.split('?', 1)
  return fullyDecoded(path)
    .replace(/;[^/]*/g, '')
    .split('/')
    .findLast((part) => part !== '')
}

function fullyDecoded(path: string): string {
  const once = decodeURIComponent(path)
  return once === path ? path : fullyDecoded(once)
}

function* methodMembers(entry: Entry): Generator<[name: string, method: unknown]> {
  for (const name of Object.keys(entry)) if (isMethodKey(name)) yield [name, entry[name]]
}

/** @throws ApiError INVALID_REQUEST if a server could read the call as another one than it is priced as */
export function assertPayload(call: RpcRequest): void {
  if (call.method === 'GET' && Array.isArray(call.payload))
    throw new ApiError('INVALID_REQUEST', 'payload: a GET carries no batch; send it by POST')
  if (call.transport === 'rest') return
  for (const entry of entriesOf(call))
    for (const [name] of methodMembers(entry))
      if (name !== 'method')
        throw new ApiError('INVALID_REQUEST', 'payload: write the member `method` in small letters')
}

/** CometBFT takes the method from the path and ignores the body; some JSON-RPC servers take it from the query. */
function* methodsInUrl({ resource, method }: RpcRequest): Generator<string> {
  const pathMethod = methodOfPath(resource)
  if (pathMethod !== undefined) yield methodNameOf(pathMethod)
  const query = resource.indexOf('?')
  if (method === 'GET' && query >= 0)
    for (const [name, value] of new URLSearchParams(resource.slice(query + 1)))
      if (name.toLowerCase() === 'method') yield methodNameOf(value)
}

export function callKindOf(call: RpcRequest): CallKind {
  let kind: CallKind = call.transport === 'rest' && call.method === 'POST' ? 'idempotent' : 'read'
  const consider = (method: string) => {
    if (IDEMPOTENT_WRITES.test(method)) kind = kind === 'read' ? 'idempotent' : kind
    else if (WRITES.test(method)) kind = 'write'
  }
  for (const entry of entriesOf(call))
    for (const [, method] of methodMembers(entry)) consider(methodNameOf(method))
  for (const method of methodsInUrl(call)) consider(method)
  return kind
}

/** Limit of the column `credits`. */
const MAX_COST = 2_147_483_647

export type Bill = {
  urlMethods: readonly string[]
  entries: readonly { methods: readonly string[]; minimum: Minimum; count: number }[]
}
/** The minimum cost of an entry: nothing, one credit, or the cost of the URL. */
type Minimum = 'nothing' | 'one' | 'url'

export function billOf(call: RpcRequest): Bill {
  const entries = new Map<string, { methods: string[]; minimum: Minimum; count: number }>()
  for (const entry of entriesOf(call)) {
    const methods = [...methodMembers(entry)].map(([, method]) => methodNameOf(method))
    const minimum = call.transport === 'rest' ? 'nothing' : 'method' in entry ? 'one' : 'url'
    const key = [minimum, ...methods].join(' ')
    const existing = entries.get(key)
    if (existing) existing.count++
    else entries.set(key, { methods, minimum, count: 1 })
  }
  return { urlMethods: [...methodsInUrl(call)], entries: [...entries.values()] }
}

/**
 * In credits. Each entry costs its method's weight (default 1); an entry that can be read as two methods costs the higher one.
 * REST calls too, because a node's RPC may be reachable below a REST base URL.
 *
 * @throws ApiError INVALID_REQUEST for a batch that exceeds MAX_COST
 */
export function costOf({ urlMethods, entries }: Bill, weights: Provider['methods']): number {
  const weightOf = (method: string) => (Object.hasOwn(weights, method) ? (weights[method] ?? 1) : 1)
  const url = Math.max(1, ...urlMethods.map(weightOf))
  const minimums: Record<Minimum, number> = { nothing: 0, one: 1, url }
  let cost = 0
  for (const { methods, minimum, count } of entries)
    cost += count * Math.max(minimums[minimum], ...methods.map(weightOf))
  cost = Math.max(cost, url)
  if (cost > MAX_COST)
    throw new ApiError('INVALID_REQUEST', 'payload: the batch is too dear for one call; split it')
  return cost
}
