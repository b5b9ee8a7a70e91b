import { type RpcRequest } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Provider } from '../catalog/catalog'
import { entriesOf, methodMembers, methodNameOf, methodsInUrl } from './rpc-methods'

/** Limit of the column `credits`. */
const MAX_COST = 2_147_483_647

/** Credits by RPC method. */
export type MethodWeights = Provider['methods']

export type Bill = {
  urlMethods: readonly string[]
  entries: readonly { methods: readonly string[]; minimum: Minimum; count: number }[]
}
/** The minimum cost of an entry: nothing, one credit, or the cost of the URL. */
type Minimum = 'nothing' | 'one' | 'url'

export function billOf(call: RpcRequest): Bill {
  const entries = new Map<string, { methods: string[]; minimum: Minimum; count: number }>()
  for (const entry of entriesOf(call)) {
    const methods = methodMembers(entry).map(([, method]) => methodNameOf(method))
    const minimum = call.transport === 'rest' ? 'nothing' : 'method' in entry ? 'one' : 'url'
    const key = [minimum, ...methods].join(' ')
    const existing = entries.get(key)
    if (existing) existing.count++
    else entries.set(key, { methods, minimum, count: 1 })
  }
  return { urlMethods: methodsInUrl(call), entries: [...entries.values()] }
}

/**
 * In credits. Each entry costs its method's weight (default 1); an entry that can be read as two methods costs the higher one.
 * REST calls too, because a node's RPC may be reachable below a REST base URL.
 *
 * @throws ApiError INVALID_REQUEST for a batch that exceeds MAX_COST
 */
export function costOf({ urlMethods, entries }: Bill, weights: MethodWeights): number {
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
