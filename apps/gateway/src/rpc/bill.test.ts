import { type RpcRequest } from '@tollgate/protocol'
import { rpcCall } from '../testing/rpc-call'
import { billOf, costOf } from './bill'

const costOfCall = (call: RpcRequest, weights: Record<string, number>) => costOf(billOf(call), weights)

describe('the cost of a call', () => {
  const weights = { eth_getLogs: 5, broadcast_tx_commit: 7, dear: 1_000_000 }

  test.each([
    ['a method without a weight', rpcCall({ method: 'eth_call' }), 1],
    ['a method with one', rpcCall({ method: 'eth_getLogs' }), 5],
    ['a method named like a property of Object.prototype', rpcCall({ method: 'constructor' }), 1],
    ['no method', rpcCall({}), 1],
    ['a method that is not a string', rpcCall({ method: ['eth_getLogs'] }), 1],
    [
      'a method that the path names',
      rpcCall({}, { method: 'GET', resource: 'broadcast_tx_commit?tx=0x00' }),
      7,
    ],
    ['REST', rpcCall({ page: 1 }, { transport: 'rest' }), 1],
    ['REST with many entries', rpcCall([{ a: 1 }, { b: 2 }], { transport: 'rest' }), 1],
    ['a batch', rpcCall([{ method: 'eth_call' }, { method: 'eth_getLogs' }, { method: 'eth_getLogs' }]), 11],
    ['a batch of a thousand', rpcCall(Array.from({ length: 1_000 }, () => ({ method: 'eth_call' }))), 1_000],
  ])('of %s', (_, call, cost) => expect(costOfCall(call, weights)).toBe(cost))

  test.each([
    [
      'the path and the body name different methods',
      rpcCall({ method: 'health' }, { resource: 'eth_getLogs?x=1' }),
      5,
    ],
    ['the path names a cheaper one', rpcCall({ method: 'eth_getLogs' }, { resource: 'health' }), 5],
    ['the query of a GET does', rpcCall({ method: 'health' }, { method: 'GET', resource: 'eth_getLogs' }), 5],
    ['the resource has a query', rpcCall({}, { method: 'GET', resource: '?a=b/c&method=eth_getLogs' }), 5],
    ['the path is encoded', rpcCall({}, { method: 'GET', resource: 'x/%65th_get%254cogs' }), 5],
    ['the path ends in slashes', rpcCall({}, { method: 'GET', resource: '/eth_getLogs//?q' }), 5],
    ['the path has a parameter', rpcCall({}, { method: 'GET', resource: 'eth_getLogs;x=1' }), 5],
    ['an entry has no method', rpcCall([{}, { method: 'health' }], { resource: 'eth_getLogs' }), 6],
    ['it is sent over REST', rpcCall({ method: 'eth_getLogs' }, { transport: 'rest', resource: 'rpc' }), 5],
    [
      'it is sent over REST with METHOD in upper case',
      rpcCall({ METHOD: 'eth_getLogs' }, { transport: 'rest' }),
      5,
    ],
    [
      'a batch is sent over REST',
      rpcCall([{ method: 'health' }, { method: 'eth_getLogs' }], { transport: 'rest' }),
      6,
    ],
    [
      'a path goes over REST',
      rpcCall({}, { transport: 'rest', method: 'GET', resource: 'rpc/eth_getLogs' }),
      5,
    ],
  ])('cannot be evaded if %s', (_, call, cost) => expect(costOfCall(call, weights)).toBe(cost))

  test("is refused above the maximum of the ledger's column", () => {
    const batch = (entries: number) => rpcCall(Array.from({ length: entries }, () => ({ method: 'dear' })))
    expect(costOfCall(batch(2_147), weights)).toBe(2_147_000_000)
    expect(() => costOfCall(batch(2_148), weights)).toThrow('too dear')
  })
})
