import { type RpcRequest } from '@tollgate/protocol'
import { costOf, kindOf, methodsOf } from './methods'

const callOf = (payload: RpcRequest['payload'], changes: Partial<RpcRequest> = {}): RpcRequest => ({
  ecosystem: 'evm',
  chain_id: '1',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload,
  ...changes,
})

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
    ['anvil_setBalance', 'write'],
    ['', 'read'],
  ])('%s is %s', (method, kind) => expect(kindOf(callOf({ method }))).toBe(kind))

  test('of a batch is that of its most delicate entry', () => {
    const batch = (...methods: string[]) => callOf(methods.map((method) => ({ method })))
    expect(kindOf(batch('eth_call', 'eth_blockNumber'))).toBe('read')
    expect(kindOf(batch('eth_call', 'eth_sendRawTransaction'))).toBe('idempotent')
    expect(kindOf(batch('eth_sendRawTransaction', 'eth_sendTransaction', 'eth_call'))).toBe('write')
  })

  test('of REST is that of its HTTP method', () => {
    expect(kindOf(callOf({}, { transport: 'rest', method: 'GET' }))).toBe('read')
    expect(kindOf(callOf({}, { transport: 'rest' }))).toBe('idempotent')
  })

  test('of a method that the path names is that of the method', () => {
    const named = (resource: string) => kindOf(callOf({}, { method: 'GET', resource }))
    expect(named('status')).toBe('read')
    expect(named('broadcast_tx_commit?tx=0x00')).toBe('idempotent')
    expect(named('v1/%62roadcast_tx_sync/')).toBe('idempotent')
  })
})

describe('the cost of a call', () => {
  const weights = { eth_getLogs: 5, broadcast_tx_commit: 7, dear: 1_000_000 }

  test.each([
    ['a method without a weight', callOf({ method: 'eth_call' }), 1],
    ['a method with one', callOf({ method: 'eth_getLogs' }), 5],
    ['a method that every object has', callOf({ method: 'constructor' }), 1],
    ['no method', callOf({}), 1],
    ['a method that is no text', callOf({ method: ['eth_getLogs'] }), 1],
    [
      'a method that the path names',
      callOf({}, { method: 'GET', resource: 'broadcast_tx_commit?tx=0x00' }),
      7,
    ],
    ['REST', callOf({ method: 'eth_getLogs' }, { transport: 'rest' }), 1],
    ['a batch', callOf([{ method: 'eth_call' }, { method: 'eth_getLogs' }, { method: 'eth_getLogs' }]), 11],
    ['a batch of a thousand', callOf(Array.from({ length: 1_000 }, () => ({ method: 'eth_call' }))), 1_000],
  ])('of %s', (_, call, cost) => expect(costOf(call, weights)).toBe(cost))

  test('is refused where no ledger could write it down', () => {
    const batch = (entries: number) => callOf(Array.from({ length: entries }, () => ({ method: 'dear' })))
    expect(costOf(batch(2_147), weights)).toBe(2_147_000_000)
    expect(() => costOf(batch(2_148), weights)).toThrow('too dear')
  })
})

test('a method with a name that no database takes is unknown', () => {
  for (const method of ['a\u0000b', '\ud800', 'eth call', 'x'.repeat(129), '', 'ü'])
    expect(methodsOf(callOf({ method }))).toEqual(['unknown'])
  expect(methodsOf(callOf([{ method: 'eth_call' }, {}]))).toEqual(['eth_call', 'unknown'])
})
