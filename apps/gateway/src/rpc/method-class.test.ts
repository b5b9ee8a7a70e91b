import { methodClassOf } from './method-class'

const classOf = (
  rpcMethod: string | null,
  transport: 'rpc' | 'rest' = 'rpc',
  kind: 'read' | 'write' = 'read',
) =>
  methodClassOf({ ecosystem: 'evm', chainId: '1', method: 'POST', resource: '', transport, rpcMethod }, kind)

test.each([
  ['eth_blockNumber', 'read'],
  ['eth_call', 'read'],
  ['abci_query', 'read'],
  ['block_results', 'read'],
  ['eth_getLogs', 'logs'],
  ['tx_search', 'logs'],
  ['debug_traceTransaction', 'trace'],
  ['trace_block', 'trace'],
  ['bor_getAuthor', 'other'],
  ['unknown', 'other'],
  [null, 'other'],
])('%s is of the class %s', (method, expected) => expect(classOf(method)).toBe(expected))

test('a call that can write is a write, and REST has a class of its own', () => {
  expect(classOf('eth_call', 'rpc', 'write')).toBe('write')
  expect(classOf(null, 'rest')).toBe('rest')
  expect(classOf(null, 'rest', 'write')).toBe('write')
})
