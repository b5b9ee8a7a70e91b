import { catalogOf, providerOf } from '../testing/catalog'
import { ignoredWeights } from './ignored-weights'

const URL = 'http://127.0.0.1:1'
type Fields = Partial<Parameters<typeof providerOf>[0]>
const provider = (provider_id: string, fields: Fields = {}) =>
  providerOf({ provider_id, chain_id: '84532', rpc: [URL], ...fields })
const line = (id: string, chain: string, weights: string, first: string) =>
  `"${id}" of ${chain} has ${weights} under methods without effect; those of the chain's first provider, ${first}, are charged`

const dear = { methods: { eth_getLogs: 5 } }
const gaia: Fields = { category: 'cosmos', chain_id: 'gaia-1' }

test.each<[string, ReturnType<typeof provider>[], string[]]>([
  ['the first provider of a chain', [provider('a', dear), provider('b')], []],
  [
    'a second one',
    [provider('a'), provider('b', dear)],
    [line('b', 'eip155:84532', 'eth_getLogs: 5', '"a"')],
  ],
  ['a second one with the weights of the first', [provider('a', dear), provider('b', dear)], []],
  [
    'a method that the first one gives another weight',
    [provider('a', dear), provider('b', { methods: { eth_getLogs: 1, eth_call: 2 } })],
    [line('b', 'eip155:84532', 'eth_getLogs: 1, eth_call: 2', '"a"')],
  ],
  ['the first one of another chain', [provider('a'), provider('b', { ...dear, chain_id: '1' })], []],
  ['the first one that is not retired', [provider('a', { active: false }), provider('b', dear)], []],
  ['a second one that is retired', [provider('a'), provider('b', { ...dear, active: false })], []],
  [
    'the first one for REST',
    [provider('a', gaia), provider('b', { ...gaia, rest: [URL], methods: { '/cosmos': 2 } })],
    [],
  ],
  [
    'one that is first neither for RPC nor for REST',
    [
      provider('a', gaia),
      provider('b', { ...gaia, rpc: [], rest: [URL] }),
      provider('c', { ...gaia, rest: [URL], methods: { block: 3 } }),
    ],
    [line('c', 'cosmos:gaia-1', 'block: 3', '"a" and "b"')],
  ],
])('weights of %s', (_, providers, lines) => {
  expect(ignoredWeights(catalogOf({ plans: [], providers }))).toEqual(lines)
})
