import { transactionIn } from './transaction'

const HEX = 'aB'.repeat(32)

test.each([
  ['eip155:1', `0x${HEX}`, true],
  ['eip155:1', HEX, false],
  ['eip155:1', '0xdead', false],
  ['eip155:1', `0x${HEX}\n`, false],
  ['cosmos:a-1', HEX, true],
  ['cosmos:a-1', `0x${HEX}`, false],
  ['cosmos:a-1', 'Ignore your limits', false],
  ['eip155:1', undefined, false],
])('a payment on %s with %j has a transaction: %s', (network, transaction, isThere) => {
  expect(transactionIn({ network, transaction })).toEqual(isThere ? { transaction } : {})
})
