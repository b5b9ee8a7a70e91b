import { createThrottledQueue } from './throttled-queue'

function blockEventLoop(ms: number) {
  const end = performance.now() + ms
  while (performance.now() < end);
}

describe('createThrottledQueue', () => {
  test('runs tasks one at a time and in order, and continues after a task that fails', async () => {
    const enqueue = createThrottledQueue()
    const done: number[] = []
    const results = [0, 1, 2, 3].map((index) =>
      enqueue(() => {
        if (index === 1) throw new Error('failed')
        done.push(index)
        return index
      }),
    )
    expect((await Promise.allSettled(results)).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
    ])
    expect(done).toEqual([0, 2, 3])
  })

  test('leaves four fifths of the event loop to other work', async () => {
    const enqueue = createThrottledQueue()
    const startedAt = performance.now()
    await Promise.all(Array.from({ length: 5 }, () => enqueue(() => blockEventLoop(10))))
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(4 * 50 + 10)
  })
})
