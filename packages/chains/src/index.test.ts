import * as chains from './index'

test('exports what apps need, and no more', () => {
  expect(Object.keys(chains).sort()).toEqual([
    'ChainUnavailable',
    'TransactionRejected',
    'curveIsNative',
    'families',
  ])
  expect(Object.keys(chains.families)).toEqual(['evm'])
  expect(chains.families.evm?.ecosystem).toBe('evm')
})
