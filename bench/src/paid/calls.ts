import { CHAIN } from '../gateway/chains'
import { type LoadRequest } from '../load/request'

const PAYLOAD = {
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_getBalance',
  params: ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 'latest'],
}

export const rpcRequest: LoadRequest = {
  path: '/',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(PAYLOAD),
}

export type CallOptions = { chain?: string; batch?: number }

/** `POST /rpc` with one call, or a batch. */
export function paidRequest(token: string, { chain = CHAIN, batch }: CallOptions = {}): LoadRequest {
  const payload =
    batch === undefined ? PAYLOAD : Array.from({ length: batch }, (_, id) => ({ ...PAYLOAD, id }))
  const call = { ecosystem: 'evm', chain_id: chain, resource: '', method: 'POST', transport: 'rpc', payload }
  return {
    path: '/rpc',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
    body: JSON.stringify(call),
  }
}
