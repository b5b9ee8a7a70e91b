import { rpcCall } from '../testing/rpc-call'
import { callKindOf } from './call-kind'

describe('the kind of a call', () => {
  test.each([
    ['eth_call', 'read'],
    ['eth_blockNumber', 'read'],
    ['eth_sendRawTransaction', 'idempotent'],
    ['broadcast_tx_sync', 'idempotent'],
    ['broadcast_tx_async', 'idempotent'],
    ['broadcast_tx_commit', 'idempotent'],
    ['eth_sendTransaction', 'write'],
    ['eth_sendUserOperation', 'write'],
    ['eth_sendRawTransactionConditional', 'write'],
    ['personal_sign', 'write'],
    ['evm_mine', 'write'],
    ['mev_sendBundle', 'write'],
    ['eth_submitWork', 'write'],
    ['debug_setHead', 'write'],
    ['unsafe_flush_mempool', 'write'],
    ['broadcast_evidence', 'idempotent'],
    ['anvil_setBalance', 'write'],
    ['', 'read'],
  ])('%s is %s', (method, kind) => expect(callKindOf(rpcCall({ method }))).toBe(kind))

  test('of a batch is that of its most restrictive entry', () => {
    const batch = (...methods: string[]) => rpcCall(methods.map((method) => ({ method })))
    expect(callKindOf(batch('eth_call', 'eth_blockNumber'))).toBe('read')
    expect(callKindOf(batch('eth_call', 'eth_sendRawTransaction'))).toBe('idempotent')
    expect(callKindOf(batch('eth_sendRawTransaction', 'eth_sendTransaction', 'eth_call'))).toBe('write')
  })

  test('of REST is that of its HTTP method', () => {
    expect(callKindOf(rpcCall({}, { transport: 'rest', method: 'GET' }))).toBe('read')
    expect(callKindOf(rpcCall({}, { transport: 'rest' }))).toBe('idempotent')
  })

  test('of a call that can be read as two methods is the more restrictive one', () => {
    const posted = (resource: string, method: string, transport: 'rpc' | 'rest' = 'rpc') =>
      callKindOf(rpcCall({ method }, { resource, transport }))
    expect(posted('broadcast_tx_commit?tx=0x00', 'health')).toBe('idempotent')
    expect(posted('health', 'broadcast_tx_commit')).toBe('idempotent')
    expect(posted('', 'eth_sendTransaction', 'rest')).toBe('write')
    expect(callKindOf(rpcCall({}, { method: 'GET', resource: '?method=eth_sendTransaction' }))).toBe('write')
  })

  test('of a method in the path is that of the method', () => {
    const named = (resource: string) => callKindOf(rpcCall({}, { method: 'GET', resource }))
    expect(named('status')).toBe('read')
    expect(named('broadcast_tx_commit?tx=0x00')).toBe('idempotent')
    expect(named('v1/%62roadcast_tx_sync/')).toBe('idempotent')
  })
})
