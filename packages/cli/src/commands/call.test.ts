import { UsageError } from '../exit-codes'
import { parseCall } from './call'

test.each([
  [
    { method: 'eth_chainId', words: [] },
    { kind: 'rpc', method: 'eth_chainId', params: [] },
  ],
  [
    { method: 'block', words: [], params: '{"height":"5"}' },
    { kind: 'rpc', method: 'block', params: { height: '5' } },
  ],
  [
    { method: undefined, words: [], rest: 'cosmos/bank/v1beta1/supply?pagination.limit=1' },
    { kind: 'rest', path: '/cosmos/bank/v1beta1/supply?pagination.limit=1' },
  ],
  [
    { method: undefined, words: [], rest: '/a..b/.c' },
    { kind: 'rest', path: '/a..b/.c' },
  ],
])('%j is a call', (words, call) => {
  expect(parseCall(words)).toEqual(call)
})

test.each([
  [{ method: undefined, words: [] }],
  [{ method: 'block', words: ['5'], params: '[5]' }],
  [{ method: 'block', words: [], rest: '/a' }],
  [{ method: undefined, words: [], rest: '/a', params: '[]' }],
  [{ method: undefined, words: [], rest: '/../../auth/nonce' }],
  [{ method: undefined, words: [], rest: '/a/%2e%2E/b' }],
  [{ method: undefined, words: [], rest: String.raw`\..\b` }],
])('%j is wrong usage', (words) => {
  expect(() => parseCall(words)).toThrow(UsageError)
})
