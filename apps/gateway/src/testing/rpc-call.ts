import { type RpcRequest } from '@tollgate/protocol'

export const rpcCall = (payload: RpcRequest['payload'], changes: Partial<RpcRequest> = {}): RpcRequest => ({
  ecosystem: 'evm',
  chain_id: '1',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload,
  ...changes,
})
