import { interleave, median, medianInterval, medianOf } from './rounds'

test.each([
  [[3], 3],
  [[5, 1, 3], 3],
  [[4, 1, 3, 2], 2.5],
  [[10, 9, 100], 10],
])('the median of %j is %d', (values, expected) => {
  expect(median(values)).toBe(expected)
})

test('there is no median of no values', () => {
  expect(() => median([])).toThrow('no values')
})

test.each([
  [100, [40, 61]],
  [90, [36, 55]],
  [25, [8, 18]],
  [10, [2, 9]],
  [6, [1, 6]],
  [5, undefined],
  [0, undefined],
])(
  'the confidence interval of the median of %d values is from and to the values of ranks %j',
  (count, ranks) => {
    const values = Array.from({ length: count }, (_, index) => ((index * 37) % count) + 1)
    expect(medianInterval(values)).toEqual(ranks)
  },
)

test('the contenders run in turn in each round, which begins with the next one', async () => {
  const order: string[] = []
  const lines: string[] = []
  const contender = (name: string, base: number) => (round: number) => {
    order.push(`${name}${round}`)
    return Promise.resolve({ rate: base + round })
  }
  const samples = await interleave(
    { rounds: 3, progress: (line) => lines.push(line) },
    { ours: contender('ours', 10), theirs: contender('theirs', 20) },
    ({ rate }) => `${rate}/s`,
  )
  expect(order).toEqual(['ours1', 'theirs1', 'theirs2', 'ours2', 'ours3', 'theirs3'])
  expect(medianOf(samples.ours, ({ rate }) => rate)).toBe(12)
  expect(samples.theirs).toEqual([{ rate: 21 }, { rate: 22 }, { rate: 23 }])
  expect(lines[1]).toBe('round 1 of 3: theirs 21/s')
})
