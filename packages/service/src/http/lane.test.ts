import { createLane } from './lane'

/** Keeps the event loop busy. */
function work(ms: number) {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe('a lane', () => {
  test('runs one piece of work after the other, in their order, and goes on after one that fails', async () => {
    const inLane = createLane()
    const done: number[] = []
    const all = [0, 1, 2, 3].map((index) =>
      inLane(() => {
        if (index === 1) throw new Error('failed')
        done.push(index)
        return index
      }),
    )
    expect((await Promise.allSettled(all)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(done).toEqual([0, 2, 3])
  })

  test('leaves four fifths of the time to others', async () => {
    const inLane = createLane()
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: 5 }, () => inLane(() => work(10))))
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(4 * 50 + 10)
  })
})
