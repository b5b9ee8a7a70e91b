import { highestPlausible, isFarBehind, mayHaveBeenThere } from './claim-outcome'

describe('the highest block at a claim', () => {
  test.each<[string, bigint[], bigint]>([
    ['of one node', [], 100n],
    ['of nodes that lag', [90n, 100n], 100n],
    ['of a node that is ahead', [100n, 356n], 356n],
    ['is not of a node that is too far ahead', [100n, 357n, 103n], 103n],
    ['is not of a node that states a height that no chain has', [2n ** 70n], 100n],
  ])('%s', (_, heights, expected) => {
    expect(highestPlausible(100n, heights)).toBe(expected)
  })
})

describe('a node is far behind', () => {
  test.each<[string, bigint[], number, boolean]>([
    ['where its newest block is old, and another node is far ahead', [357n], 61, true],
    ['not where its newest block is new, whatever another node states', [2n ** 70n], 60, false],
    ['not where the chain stands still', [100n], 3_600, false],
    ['not where the other node is a little ahead', [356n], 3_600, false],
    ['not where it is the only one', [], 3_600, false],
  ])('%s', (_, heights, age, expected) => {
    const head = { number: 100n, timestamp: 1_000_000 }
    expect(isFarBehind(head, heights, new Date(1000 * (head.timestamp + age)))).toBe(expected)
  })
})

describe('a settlement may have been there when its payment was claimed', () => {
  test.each<[string, bigint | null, bigint, boolean]>([
    ['not below the block in which its nonce was unspent', 100n, 99n, false],
    ['not in that block', 100n, 100n, false],
    ['in a block that only another node had', 100n, 101n, true],
    ['in the newest block of that other node', 100n, 110n, true],
    ['not in a block that no node had', 100n, 111n, false],
    ['in any block up to then, of an older claim', null, 1n, true],
  ])('%s', (_, unspentAtBlock, block, expected) => {
    expect(mayHaveBeenThere({ unspentAtBlock, seenBlock: 110n }, block)).toBe(expected)
  })
})
