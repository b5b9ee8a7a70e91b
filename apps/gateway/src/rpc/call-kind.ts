import { type RpcRequest } from '@tollgate/protocol'
import { entriesOf, methodMembers, methodNameOf, methodsInUrl } from './rpc-methods'

/** A `read` can always be retried, an `idempotent` write if it was not executed, a `write` never. */
export type CallKind = 'read' | 'idempotent' | 'write'

const IDEMPOTENT_WRITES = /^(eth_sendRawTransaction|broadcast_tx_(sync|async|commit)|broadcast_evidence)$/
const WRITES =
  /^(\w+_(send|submit|cancel|set)|(personal|account|wallet|engine|miner|admin|anvil|hardhat|evm|unsafe|dial)_)/

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
