import { planMoves } from './fill-gaps'

test.each<[string, number[], number[], [from: number, to: number][]]>([
  ['nothing without a gap', [3, 4], [5, 6], []],
  ['the last one to a gap below it', [4, 5], [3, 6], [[5, 3]]],
  [
    'the last ones to several gaps, the lowest first',
    [3, 5, 7, 8],
    [2, 4, 6, 9],
    [
      [8, 2],
      [7, 4],
    ],
  ],
  ['none to a nonce above its own', [4], [3], [[4, 3]]],
  ['nothing if nothing waits', [], [], []],
])('moves %s', (_, pending, free, moves) => {
  const planned = planMoves(
    pending.map((nonce) => ({ nonce: BigInt(nonce) })),
    free.map(BigInt),
  )
  expect(planned.map(({ transaction, nonce }) => [Number(transaction.nonce), Number(nonce)])).toEqual(moves)
})
