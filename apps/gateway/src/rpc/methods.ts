import { type RpcRequest } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Provider } from '../catalog/catalog'

/** What may be sent a second time: a `read` always, an `idempotent` write where it surely was not carried out, a `write` never. */
export type Kind = 'read' | 'idempotent' | 'write'

const idempotentWrites = /^(eth_sendRawTransaction|broadcast_tx_(sync|async|commit)|broadcast_evidence)$/
const writes =
  /^(\w+_(send|submit|cancel|set)|(personal|account|wallet|engine|miner|admin|anvil|hardhat|evm|unsafe|dial)_)/

/**
 * The call with a payload of which only that is left which decides its price: in each entry the members that may be taken for
 * `method`. A payload can have thousands of members, and everything after this walks over it several times.
 */
export function outlineOf(body: unknown): unknown {
  if (!isObject(body)) return body
  const { ecosystem, chain_id, resource, method, transport, payload } = body
  const outline = Array.isArray(payload) ? payload.map(entryOutline) : entryOutline(payload)
  return { ecosystem, chain_id, resource, method, transport, payload: outline }
}

function entryOutline(entry: unknown): unknown {
  if (!isObject(entry)) return entry
  const outline: Entry = {}
  for (const name in entry) if (isMethod(name)) outline[name] = entry[name]
  return outline
}

const isObject = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Go reads the names of members in any letter case. */
const isMethod = (name: string) => name.length === 6 && name.toLowerCase() === 'method'

/** What a method may be called; other names are no node's, and some of them no database takes. */
const methodName = /^[\x21-\x7e]{1,128}$/
const known = (method: unknown) =>
  typeof method === 'string' && methodName.test(method) ? method : 'unknown'

type Entry = Record<string, unknown>
const entriesOf = ({ payload }: RpcRequest): Entry[] => [payload].flat()

/** The RPC methods of a call, one for each entry of a batch; without an entry that names one, the path does. None for REST. */
export const methodsOf = (call: RpcRequest): string[] =>
  call.transport === 'rest'
    ? []
    : entriesOf(call).map(({ method = methodOfPath(call.resource) }) => known(method))

/** The last segment of a path that has passed checkResource, as whoever decodes it most often sees it. */
function methodOfPath(resource: string): string | undefined {
  const [path = ''] = resource.split('?', 1)
  return decoded(path)
    .replace(/;[^/]*/g, '')
    .split('/')
    .findLast((part) => part !== '')
}

function decoded(path: string): string {
  const once = decodeURIComponent(path)
  return once === path ? path : decoded(once)
}

/** Members that a reader may take for `method`. */
function* methodMembers(entry: Entry): Generator<[name: string, method: unknown]> {
  for (const name of Object.keys(entry)) if (isMethod(name)) yield [name, entry[name]]
}

/**
 * Refuses a call that could be read as another one than it is priced as.
 *
 * @throws ApiError INVALID_REQUEST
 */
export function checkPayload(call: RpcRequest): void {
  if (call.method === 'GET' && Array.isArray(call.payload))
    throw new ApiError('INVALID_REQUEST', 'payload: a GET carries no batch; send it by POST')
  if (call.transport === 'rest') return
  for (const entry of entriesOf(call))
    for (const [name] of methodMembers(entry))
      if (name !== 'method')
        throw new ApiError('INVALID_REQUEST', 'payload: write the member `method` in small letters')
}

/**
 * What an upstream may take a call for beside what its entries say: CometBFT goes by the path and passes the body over,
 * and there are servers of JSON-RPC that go by the query.
 */
function* methodsOfAddress({ resource, method }: RpcRequest): Generator<string> {
  const named = methodOfPath(resource)
  if (named !== undefined) yield known(named)
  const query = resource.indexOf('?')
  if (method === 'GET' && query >= 0)
    for (const [name, value] of new URLSearchParams(resource.slice(query + 1)))
      if (name.toLowerCase() === 'method') yield known(value)
}

export function kindOf(call: RpcRequest): Kind {
  let kind: Kind = call.transport === 'rest' && call.method === 'POST' ? 'idempotent' : 'read'
  const consider = (method: string) => {
    if (idempotentWrites.test(method)) kind = kind === 'read' ? 'idempotent' : kind
    else if (writes.test(method)) kind = 'write'
  }
  for (const entry of entriesOf(call)) for (const [, method] of methodMembers(entry)) consider(known(method))
  for (const method of methodsOfAddress(call)) consider(method)
  return kind
}

/** What the ledger can write into one row. */
const MAX_COST = 2_147_483_647

/** What a call is priced by: the methods that its address may name, and how often which of them stand in an entry. */
export type Bill = {
  addressed: readonly string[]
  entries: readonly { methods: readonly string[]; floor: Floor; count: number }[]
}
/** What an entry costs at least: nothing of its own, one credit, or what the address costs. */
type Floor = 'nothing' | 'one' | 'address'

/** As short as it can be said, for a batch may have very many entries. */
export function billOf(call: RpcRequest): Bill {
  const entries = new Map<string, { methods: string[]; floor: Floor; count: number }>()
  for (const entry of entriesOf(call)) {
    const methods = [...methodMembers(entry)].map(([, method]) => known(method))
    const floor = call.transport === 'rest' ? 'nothing' : 'method' in entry ? 'one' : 'address'
    const key = [floor, ...methods].join(' ')
    const same = entries.get(key)
    if (same) same.count++
    else entries.set(key, { methods, floor, count: 1 })
  }
  return { addressed: [...methodsOfAddress(call)], entries: [...entries.values()] }
}

/**
 * In credits: each call, and each entry of a batch, costs its method's weight, which is one where the catalog names none.
 * Where it could be taken for two methods it costs the dearer one. That holds for REST as well, behind whose base URL a
 * node's RPC may be within reach; only what names no method is there one call, however many entries it has.
 *
 * @throws ApiError INVALID_REQUEST for a batch that no balance could pay
 */
export function costOf({ addressed, entries }: Bill, weights: Provider['methods']): number {
  const weightOf = (method: string) => (Object.hasOwn(weights, method) ? (weights[method] ?? 1) : 1)
  const address = Math.max(1, ...addressed.map(weightOf))
  const floors: Record<Floor, number> = { nothing: 0, one: 1, address }
  let cost = 0
  for (const { methods, floor, count } of entries)
    cost += count * Math.max(floors[floor], ...methods.map(weightOf))
  cost = Math.max(cost, address)
  if (cost > MAX_COST)
    throw new ApiError('INVALID_REQUEST', 'payload: the batch is too dear for one call; split it')
  return cost
}
