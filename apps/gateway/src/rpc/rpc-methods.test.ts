import { rpcCall } from '../testing/rpc-call'
import { rpcMethodsOf } from './rpc-methods'

test('a method whose name Postgres cannot store is unknown', () => {
  for (const method of ['a\u0000b', '\ud800', 'eth call', 'x'.repeat(129), '', 'ü'])
    expect(rpcMethodsOf(rpcCall({ method }))).toEqual(['unknown'])
  expect(rpcMethodsOf(rpcCall([{ method: 'eth_call' }, {}]))).toEqual(['eth_call', 'unknown'])
})
