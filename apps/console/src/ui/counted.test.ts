import { buyer, operator } from '../texts'

test.each<[string, string]>([
  [buyer.usage.failed('1'), '1 call failed; those that no node answered were refunded.'],
  [buyer.usage.failed('2'), '2 calls failed; those that no node answered were refunded.'],
  [buyer.plans.credits('1'), '1 credit'],
  [buyer.plans.buy(1), 'Buy 1 credit'],
  [buyer.playground.remaining('1'), '1 credit left'],
  [buyer.playground.remaining('1,001'), '1,001 credits left'],
  [buyer.purchase.bought('1'), 'You have bought 1 credit.'],
  [operator.overview.stuck(1), 'stuck settlement'],
  [operator.overview.stuck(0), 'stuck settlements'],
  [operator.overview.failingNodes(1), 'node that fails'],
  [operator.overview.lowSigners(2), 'signers below their threshold'],
])('%s', (text, expected) => {
  expect(text).toBe(expected)
})
