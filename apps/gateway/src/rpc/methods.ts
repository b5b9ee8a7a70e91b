import { type RpcRequest } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { type Provider } from '../catalog/catalog'

/** What may be sent a second time: a `read` always, an `idempotent` write where it surely was not carried out, a `write` never. */
export type Kind = 'read' | 'idempotent' | 'write'

const idempotentWrites = /^(eth_sendRawTransaction|broadcast_tx_(sync|async|commit))$/
const writes = /^(eth_send|personal_|account_|wallet_|engine_|miner_|admin_|anvil_|hardhat_|evm_)/

/** What a method may be called; other names are no node's, and some of them no database takes. */
const methodName = /^[\x21-\x7e]{1,128}$/

/** The RPC methods of a call, one for each entry of a batch; without an entry that names one, the path does. None for REST. */
export const methodsOf = ({ transport, payload, resource }: RpcRequest): string[] =>
  transport === 'rest'
    ? []
    : [payload]
        .flat()
        .map(({ method = lastSegment(resource) }) =>
          typeof method === 'string' && methodName.test(method) ? method : 'unknown',
        )

const lastSegment = (resource: string) =>
  decodeURIComponent(/([^/?]+)\/*(?:\?|$)/.exec(resource)?.[1] ?? 'unknown')

export function kindOf(call: RpcRequest): Kind {
  const methods = methodsOf(call)
  if (methods.length === 0) return call.method === 'GET' ? 'read' : 'idempotent'
  if (methods.some((method) => writes.test(method) && !idempotentWrites.test(method))) return 'write'
  return methods.some((method) => idempotentWrites.test(method)) ? 'idempotent' : 'read'
}

/** What the ledger can write into one row. */
const MAX_COST = 2_147_483_647

/**
 * In credits: each call, and each entry of a batch, costs its method's weight, which is one where the catalog names none.
 *
 * @throws ApiError INVALID_REQUEST for a batch that no balance could pay
 */
export function costOf(call: RpcRequest, weights: Provider['methods']): number {
  const weightOf = (method: string) => (Object.hasOwn(weights, method) ? (weights[method] ?? 1) : 1)
  const methods = methodsOf(call)
  const cost = methods.length === 0 ? 1 : methods.reduce((sum, method) => sum + weightOf(method), 0)
  if (cost > MAX_COST)
    throw new ApiError('INVALID_REQUEST', 'payload: the batch is too dear for one call; split it')
  return cost
}
