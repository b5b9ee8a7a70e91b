import { rpcCall } from '../testing/rpc-call'
import { assertPayload } from './assert-payload'

describe('a payload is refused', () => {
  test.each([
    ['whose method a node in Go reads and we do not', { Method: 'debug_traceTransaction' }],
    ['that names two methods', { method: 'eth_call', METHOD: 'debug_traceTransaction' }],
    ['of which one entry does', [{ method: 'eth_call' }, { metHod: 'debug_traceTransaction' }]],
  ])('%s', (_, payload) => {
    expect(() => assertPayload(rpcCall(payload))).toThrow('write the member `method` in small letters')
    expect(() => assertPayload(rpcCall(payload, { transport: 'rest' }))).not.toThrow()
  })

  test('that is a batch if the transport has no batches', () => {
    expect(() => assertPayload(rpcCall([{ method: 'eth_call' }], { method: 'GET' }))).toThrow(
      'a GET carries no batch',
    )
  })
})
