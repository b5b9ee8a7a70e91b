import { rpcCall } from '../testing/rpc-call'
import { rpcMethodOf } from './rpc-methods'

test('a method whose name Postgres cannot store is unknown', () => {
  for (const method of ['a\u0000b', '\ud800', 'eth call', 'x'.repeat(129), '', 'ü'])
    expect(rpcMethodOf(rpcCall({ method }))).toBe('unknown')
  expect(rpcMethodOf(rpcCall([{ method: 'eth_call' }, {}]))).toBe('eth_call')
})
