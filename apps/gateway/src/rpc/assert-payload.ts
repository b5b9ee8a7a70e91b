import { type RpcRequest } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'
import { entriesOf, methodMembers } from './rpc-methods'

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
