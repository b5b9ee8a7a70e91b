import * as chains from './index'

test('exports what apps need, and no more', () => {
  expect(Object.keys(chains).sort()).toEqual([
    'ChainUnavailable',
    'NativeAmount',
    'NodeStarting',
    'SignerUnavailable',
    'TransactionRejected',
    'curveIsNative',
    'families',
    'isPayersTransaction',
    'publicPoint',
  ])
  expect(Object.keys(chains.families)).toEqual(['evm', 'cosmos'])
  for (const [word, family] of Object.entries(chains.families)) expect(family.ecosystem).toBe(word)
})
