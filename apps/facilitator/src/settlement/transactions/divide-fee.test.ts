import { divideFee } from './divide-fee'

test.each<[bigint, bigint[], bigint[]]>([
  [100n, [1n], [100n]],
  [100n, [1n, 2n, 3n], [34n, 33n, 33n]],
  [2n, [1n, 2n, 3n], [1n, 1n, 0n]],
  [0n, [1n, 2n], [0n, 0n]],
  [100n, [], []],
])('a fee of %s is divided among %j as %j', (fee, ids, shares) => {
  expect(divideFee(fee, ids)).toEqual(
    ids.map((settlementId, index) => ({ settlementId, fee: shares[index] })),
  )
})
