import { type RpcRequest } from '@tollgate/protocol'
import { type Provider } from '../catalog/catalog'

/** What may be sent a second time: a `read` always, an `idempotent` write where it surely was not carried out, a `write` never. */
export type Kind = 'read' | 'idempotent' | 'write'

const idempotentWrites = /^(eth_sendRawTransaction|broadcast_tx_(sync|async|commit))$/
const writes = /^(eth_send|personal_|account_|wallet_|engine_|miner_|admin_|anvil_|hardhat_|evm_)/

/** The JSON-RPC methods of a call, one for each entry of a batch; none for REST. */
export const methodsOf = ({ transport, payload }: RpcRequest): string[] =>
  transport === 'rest'
    ? []
    : [payload].flat().map(({ method }) => (typeof method === 'string' ? method.slice(0, 128) : 'unknown'))

export function kindOf(call: RpcRequest): Kind {
  const methods = methodsOf(call)
  if (methods.length === 0) return call.method === 'GET' ? 'read' : 'idempotent'
  if (methods.some((method) => writes.test(method) && !idempotentWrites.test(method))) return 'write'
  return methods.some((method) => idempotentWrites.test(method)) ? 'idempotent' : 'read'
}

/** In credits: each call, and each entry of a batch, costs its method's weight, which is one where the catalog names none. */
export function costOf(call: RpcRequest, weights: Provider['methods']): number {
  const weightOf = (method: string) => (Object.hasOwn(weights, method) ? (weights[method] ?? 1) : 1)
  const methods = methodsOf(call)
  return methods.length === 0 ? 1 : methods.reduce((sum, method) => sum + weightOf(method), 0)
}
