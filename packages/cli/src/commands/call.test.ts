import { failureOf, UsageError } from '../exit-codes'
import { parseCall, restErrorOf } from './call'

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

test.each([
  [
    'the node',
    { status: 404, isOfNode: true, body: { code: 5, message: 'no such account' } },
    {
      code: 'REST_ERROR',
      message: 'The node answered 404: no such account',
      exitCode: 1,
      details: { status: 404 },
    },
  ],
  [
    'the node, as text',
    { status: 500, isOfNode: true, body: 'oh' },
    { code: 'REST_ERROR', message: 'The node answered 500: oh', exitCode: 1 },
  ],
  [
    'the gateway',
    { status: 404, isOfNode: false, body: { code: 'NOT_FOUND', message: 'No chain; see GET /providers' } },
    { code: 'GATEWAY_ERROR', message: 'No chain; see `tollgate plans`', exitCode: 1 },
  ],
  ['no gateway', { status: 502, isOfNode: false, body: '<html>' }, { message: 'The gateway answered 502' }],
])('a refusal over REST by %s is a failure', (_, answer, failure) => {
  expect(failureOf(restErrorOf(answer))).toMatchObject(failure)
})
