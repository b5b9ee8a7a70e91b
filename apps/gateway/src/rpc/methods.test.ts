import { type RpcRequest } from '@tollgate/protocol'
import { billOf, assertPayload, costOf, callKindOf, methodsOf } from './methods'

const callOf = (payload: RpcRequest['payload'], changes: Partial<RpcRequest> = {}): RpcRequest => ({
  ecosystem: 'evm',
  chain_id: '1',
  resource: '',
  method: 'POST',
  transport: 'rpc',
  payload,
  ...changes,
})

const costOfCall = (call: RpcRequest, weights: Record<string, number>) => costOf(billOf(call), weights)

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
  ])('%s is %s', (method, kind) => expect(callKindOf(callOf({ method }))).toBe(kind))

  test('of a batch is that of its most restrictive entry', () => {
    const batch = (...methods: string[]) => callOf(methods.map((method) => ({ method })))
    expect(callKindOf(batch('eth_call', 'eth_blockNumber'))).toBe('read')
    expect(callKindOf(batch('eth_call', 'eth_sendRawTransaction'))).toBe('idempotent')
    expect(callKindOf(batch('eth_sendRawTransaction', 'eth_sendTransaction', 'eth_call'))).toBe('write')
  })

  test('of REST is that of its HTTP method', () => {
    expect(callKindOf(callOf({}, { transport: 'rest', method: 'GET' }))).toBe('read')
    expect(callKindOf(callOf({}, { transport: 'rest' }))).toBe('idempotent')
  })

  test('of a call that can be read as two methods is the more restrictive one', () => {
    const posted = (resource: string, method: string, transport: 'rpc' | 'rest' = 'rpc') =>
      callKindOf(callOf({ method }, { resource, transport }))
    expect(posted('broadcast_tx_commit?tx=0x00', 'health')).toBe('idempotent')
    expect(posted('health', 'broadcast_tx_commit')).toBe('idempotent')
    expect(posted('', 'eth_sendTransaction', 'rest')).toBe('write')
    expect(callKindOf(callOf({}, { method: 'GET', resource: '?method=eth_sendTransaction' }))).toBe('write')
  })

  test('of a method in the path is that of the method', () => {
    const named = (resource: string) => callKindOf(callOf({}, { method: 'GET', resource }))
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
    ['a method named like a property of Object.prototype', callOf({ method: 'constructor' }), 1],
    ['no method', callOf({}), 1],
    ['a method that is not a string', callOf({ method: ['eth_getLogs'] }), 1],
    [
      'a method that the path names',
      callOf({}, { method: 'GET', resource: 'broadcast_tx_commit?tx=0x00' }),
      7,
    ],
    ['REST', callOf({ page: 1 }, { transport: 'rest' }), 1],
    ['REST with many entries', callOf([{ a: 1 }, { b: 2 }], { transport: 'rest' }), 1],
    ['a batch', callOf([{ method: 'eth_call' }, { method: 'eth_getLogs' }, { method: 'eth_getLogs' }]), 11],
    ['a batch of a thousand', callOf(Array.from({ length: 1_000 }, () => ({ method: 'eth_call' }))), 1_000],
  ])('of %s', (_, call, cost) => expect(costOfCall(call, weights)).toBe(cost))

  test.each([
    [
      'the path and the body name different methods',
      callOf({ method: 'health' }, { resource: 'eth_getLogs?x=1' }),
      5,
    ],
    ['the path names a cheaper one', callOf({ method: 'eth_getLogs' }, { resource: 'health' }), 5],
    ['the query of a GET does', callOf({ method: 'health' }, { method: 'GET', resource: 'eth_getLogs' }), 5],
    ['the resource has a query', callOf({}, { method: 'GET', resource: '?a=b/c&method=eth_getLogs' }), 5],
    ['the path is encoded', callOf({}, { method: 'GET', resource: 'x/%65th_get%254cogs' }), 5],
    ['the path ends in slashes', callOf({}, { method: 'GET', resource: '/eth_getLogs//?q' }), 5],
    ['the path has a parameter', callOf({}, { method: 'GET', resource: 'eth_getLogs;x=1' }), 5],
    ['an entry has no method', callOf([{}, { method: 'health' }], { resource: 'eth_getLogs' }), 6],
    ['it is sent over REST', callOf({ method: 'eth_getLogs' }, { transport: 'rest', resource: 'rpc' }), 5],
    [
      'it is sent over REST with METHOD in upper case',
      callOf({ METHOD: 'eth_getLogs' }, { transport: 'rest' }),
      5,
    ],
    [
      'a batch is sent over REST',
      callOf([{ method: 'health' }, { method: 'eth_getLogs' }], { transport: 'rest' }),
      6,
    ],
    [
      'a path goes over REST',
      callOf({}, { transport: 'rest', method: 'GET', resource: 'rpc/eth_getLogs' }),
      5,
    ],
  ])('cannot be evaded if %s', (_, call, cost) => expect(costOfCall(call, weights)).toBe(cost))

  test("is refused above the maximum of the ledger's column", () => {
    const batch = (entries: number) => callOf(Array.from({ length: entries }, () => ({ method: 'dear' })))
    expect(costOfCall(batch(2_147), weights)).toBe(2_147_000_000)
    expect(() => costOfCall(batch(2_148), weights)).toThrow('too dear')
  })
})

test('a method whose name Postgres cannot store is unknown', () => {
  for (const method of ['a\u0000b', '\ud800', 'eth call', 'x'.repeat(129), '', 'ü'])
    expect(methodsOf(callOf({ method }))).toEqual(['unknown'])
  expect(methodsOf(callOf([{ method: 'eth_call' }, {}]))).toEqual(['eth_call', 'unknown'])
})

describe('a payload is refused', () => {
  test.each([
    ['whose method a node in Go reads and we do not', { Method: 'debug_traceTransaction' }],
    ['that names two methods', { method: 'eth_call', METHOD: 'debug_traceTransaction' }],
    ['of which one entry does', [{ method: 'eth_call' }, { metHod: 'debug_traceTransaction' }]],
  ])('%s', (_, payload) => {
    expect(() => assertPayload(callOf(payload))).toThrow('write the member `method` in small letters')
    expect(() => assertPayload(callOf(payload, { transport: 'rest' }))).not.toThrow()
  })

  test('that is a batch if the transport has no batches', () => {
    expect(() => assertPayload(callOf([{ method: 'eth_call' }], { method: 'GET' }))).toThrow(
      'a GET carries no batch',
    )
  })
})
