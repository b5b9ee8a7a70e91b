import { setImmediate as nextTurn } from 'node:timers/promises'
import { createGroupCommit } from './group-commit'

function heldCommit(limits: Partial<Parameters<typeof createGroupCommit>[0]> = {}) {
  const flushes: { items: number[]; end: (results?: number[]) => void; fail: (reason: Error) => void }[] = []
  const commit = createGroupCommit<number, number>({
    lanes: 1,
    maxItems: 3,
    maxWaiting: 5,
    maxSplittingMs: 60_000,
    isRolledBack: (error) => (error as Error).message === 'undone',
    ...limits,
    flush: (items) =>
      new Promise((resolve, reject) =>
        flushes.push({
          items,
          end: (results = items.map((item) => item * 2)) => resolve(results),
          fail: reject,
        }),
      ),
  })
  return { ...commit, flushes, itemsOf: () => flushes.map(({ items }) => items) }
}

describe('createGroupCommit', () => {
  test('flushes a lone item at once, and items submitted meanwhile together', async () => {
    const { submit, flushes, itemsOf } = heldCommit()
    const lone = submit(1)
    await nextTurn()
    const others = [submit(2), submit(3)]
    await nextTurn()
    expect(itemsOf()).toEqual([[1]])

    flushes[0]!.end()
    expect(await lone).toBe(2)
    await nextTurn()
    expect(itemsOf()).toEqual([[1], [2, 3]])
    flushes[1]!.end()
    expect(await Promise.all(others)).toEqual([4, 6])
  })

  test('flushes the items of one turn together, in order, up to the batch size', async () => {
    const { submit, flushes, itemsOf } = heldCommit()
    const results = Promise.all([1, 2, 3, 4, 5].map(submit))
    await nextTurn()
    expect(itemsOf()).toEqual([[1, 2, 3]])
    flushes[0]!.end()
    await nextTurn()
    flushes[1]!.end()
    expect(await results).toEqual([2, 4, 6, 8, 10])
  })

  test('does not hold items up behind a stalled flush, and goes back to one flush at a time', async () => {
    const { submit, flushes, itemsOf } = heldCommit({ lanes: 2, stalledAfterMs: 1 })
    const stalled = submit(1)
    const behind = submit(2)
    await nextTurn()
    const others = submit(3)
    while (flushes.length < 2) await nextTurn()
    expect(itemsOf()).toEqual([[1, 2], [3]])
    flushes[1]!.end()
    expect(await others).toBe(6)
    flushes[0]!.end()
    expect(await Promise.all([stalled, behind])).toEqual([2, 4])

    const oneAtATime = heldCommit({ lanes: 2, stalledAfterMs: 60_000 })
    const results = Promise.all([4, 5].map(oneAtATime.submit))
    await nextTurn()
    const later = oneAtATime.submit(6)
    await nextTurn()
    expect(oneAtATime.itemsOf()).toEqual([[4, 5]])
    oneAtATime.flushes[0]!.end()
    await nextTurn()
    oneAtATime.flushes[1]!.end()
    expect([...(await results), await later]).toEqual([8, 10, 12])
  })

  test('with a pause, flushes a lone item at once, and those that come within the pause together', async () => {
    const { submit, flushes, itemsOf } = heldCommit({ pauseMs: 5 })
    const lone = submit(1)
    await nextTurn()
    flushes[0]!.end()
    await lone
    const others = [submit(2)]
    await nextTurn()
    others.push(submit(3))
    expect(itemsOf()).toEqual([[1]])
    while (flushes.length < 2) await nextTurn()
    expect(itemsOf()).toEqual([[1], [2, 3]])
    flushes[1]!.end()
    expect(await Promise.all(others)).toEqual([4, 6])
  })

  test('flushes in at most `lanes` batches at once', async () => {
    const { submit, flushes, itemsOf } = heldCommit({ lanes: 2, maxItems: 1 })
    const results = Promise.all([1, 2, 3].map(submit))
    await nextTurn()
    expect(itemsOf()).toEqual([[1], [2]])
    flushes[1]!.end()
    await nextTurn()
    expect(itemsOf()).toEqual([[1], [2], [3]])
    for (const { end } of flushes) end()
    expect(await results).toEqual([2, 4, 6])
  })

  test('rejects items above its queue limit, and never flushes them', async () => {
    const { submit, flushes, itemsOf, waiting, drain } = heldCommit()
    const taken = [1, 2, 3, 4, 5].map(submit)
    expect(waiting()).toBe(5)
    await expect(submit(6)).rejects.toMatchObject({ code: 'OVERLOADED', status: 503, retryAfterSeconds: 1 })
    await nextTurn()
    flushes[0]!.end()
    await nextTurn()
    flushes[1]!.end()
    await Promise.all(taken)
    await drain()
    expect(itemsOf().flat()).toEqual([1, 2, 3, 4, 5])
  })

  test('rejects only the items of a failed flush', async () => {
    const { submit, flushes } = heldCommit()
    const [one, , , four] = [1, 2, 3, 4].map((item) => submit(item).catch((error: unknown) => error))
    await nextTurn()
    flushes[0]!.fail(new Error('the database is unavailable'))
    expect(await one).toMatchObject({ message: 'the database is unavailable' })
    await nextTurn()
    flushes[1]!.end()
    expect(await four).toBe(8)
    const later = submit(5)
    await nextTurn()
    flushes[2]!.end()
    expect(await later).toBe(10)
  })

  test('splits a rolled-back batch in halves, in order, until one item fails alone', async () => {
    const { submit, flushes, itemsOf } = heldCommit({ maxItems: 8, maxWaiting: 8 })
    const ends = Promise.allSettled([1, 2, 3, 4, 5].map(submit))
    for (let index = 0; index < 5; index++) {
      await nextTurn()
      const { items, end, fail } = flushes[index]!
      if (items.includes(3)) fail(new Error('undone'))
      else end()
    }
    const undone = { status: 'rejected', reason: new Error('undone') }
    const done = (value: number) => ({ status: 'fulfilled', value })
    expect(await ends).toEqual([done(2), done(4), undone, done(8), done(10)])
    expect(itemsOf()).toEqual([[1, 2, 3, 4, 5], [1, 2, 3], [1, 2], [3], [4, 5]])
  })

  test('never retries a batch that may have been written', async () => {
    const { submit, flushes, itemsOf } = heldCommit()
    const ends = Promise.allSettled([1, 2].map(submit))
    await nextTurn()
    flushes[0]!.fail(new Error('the connection broke'))
    expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    await nextTurn()
    expect(itemsOf()).toEqual([[1, 2]])
  })

  test('stops splitting at its time limit, and rejects the items it did not try', async () => {
    const { submit, flushes, itemsOf } = heldCommit({ maxSplittingMs: -1 })
    const ends = Promise.allSettled([1, 2, 3, 4].map(submit))
    await nextTurn()
    flushes[0]!.fail(new Error('undone'))
    await nextTurn()
    flushes[1]!.end()
    const untried = {
      status: 'rejected',
      reason: expect.objectContaining({ code: 'UNAVAILABLE', retryAfterSeconds: 1 }) as unknown,
    }
    expect(await ends).toEqual([untried, untried, untried, { status: 'fulfilled', value: 8 }])
    expect(itemsOf()).toEqual([[1, 2, 3], [4]])
  })

  test('rejects an item without a result', async () => {
    const { submit, flushes } = heldCommit()
    const [kept, forgotten] = [submit(1), submit(2)]
    await nextTurn()
    flushes[0]!.end([2])
    await expect(forgotten).rejects.toThrow('no result')
    expect(await kept).toBe(2)
  })

  test('drain resolves once all items are flushed', async () => {
    const { submit, flushes, drain } = heldCommit()
    await drain()
    void submit(1)
    let isDrained = false
    const done = drain().then(() => (isDrained = true))
    await nextTurn()
    expect(isDrained).toBe(false)
    flushes[0]!.end()
    await done
  })
})
