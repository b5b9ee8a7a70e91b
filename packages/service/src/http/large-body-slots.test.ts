import { createBudget } from './memory-budget'
import { createLargeBodySlots } from './large-body-slots'

const nothing = () => undefined
const of = (key: string) => [{ key, share: 2 }]

describe('createLargeBodySlots', () => {
  test('admits waiting holders in order; a holder with a full share does not block the others', async () => {
    const { acquire } = createLargeBodySlots(createBudget({ total: 3, evictAfterMs: 60_000 }))
    const acquired: string[] = []
    const acquireAs = (name: string) =>
      acquire(of(name.charAt(0)), nothing).then((slot) => {
        acquired.push(name)
        return slot
      })
    const first = await acquireAs('a1')
    await acquireAs('a2')
    const waiting = [acquireAs('a3'), acquireAs('b1'), acquireAs('b2')]
    const b1 = await waiting[1]!
    expect(acquired).toEqual(['a1', 'a2', 'b1'])
    first.release()
    await waiting[0]
    expect(acquired).toEqual(['a1', 'a2', 'b1', 'a3'])
    b1.release()
    await waiting[2]
    expect(acquired).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
  })

  test('gives the slot of a stalled holder to a waiting one', async () => {
    const { acquire } = createLargeBodySlots(createBudget({ total: 1, evictAfterMs: 50 }))
    const evict = jest.fn()
    await acquire(of('a'), evict)
    const second = await acquire(of('b'), nothing)
    expect(evict).toHaveBeenCalledTimes(1)
    second.release()
  })

  test('rejects with OVERLOADED if no slot becomes free in time', async () => {
    jest.useFakeTimers()
    try {
      const { acquire } = createLargeBodySlots(createBudget({ total: 1, evictAfterMs: Infinity }))
      await acquire(of('a'), nothing)
      const rejected = expect(acquire(of('b'), nothing)).rejects.toMatchObject({ code: 'OVERLOADED' })
      await jest.advanceTimersByTimeAsync(5_000)
      await rejected
    } finally {
      jest.useRealTimers()
    }
  })
})
