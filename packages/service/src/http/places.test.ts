import { createBudget } from './budget'
import { createPlaces } from './places'

const nothing = () => undefined
const of = (key: string) => [{ key, share: 2 }]

describe('places', () => {
  test('are waited for in order, and a holder whose share is full holds up no other', async () => {
    const enter = createPlaces(createBudget({ total: 3, patienceMs: 60_000 }))
    const entered: string[] = []
    const come = (name: string) =>
      enter(of(name.charAt(0)), nothing).then((place) => {
        entered.push(name)
        return place
      })
    const first = await come('a1')
    await come('a2')
    const waiting = [come('a3'), come('b1'), come('b2')]
    const b1 = await waiting[1]!
    expect(entered).toEqual(['a1', 'a2', 'b1'])
    first.release()
    await waiting[0]
    expect(entered).toEqual(['a1', 'a2', 'b1', 'a3'])
    b1.release()
    await waiting[2]
    expect(entered).toEqual(['a1', 'a2', 'b1', 'a3', 'b2'])
  })

  test('of those that make no progress go to those who wait', async () => {
    const enter = createPlaces(createBudget({ total: 1, patienceMs: 50 }))
    const evict = jest.fn()
    await enter(of('a'), evict)
    const second = await enter(of('b'), nothing)
    expect(evict).toHaveBeenCalledTimes(1)
    second.release()
  })

  test('are refused where none is free in time', async () => {
    jest.useFakeTimers()
    try {
      const enter = createPlaces(createBudget({ total: 1, patienceMs: Infinity }))
      await enter(of('a'), nothing)
      const refused = expect(enter(of('b'), nothing)).rejects.toMatchObject({ code: 'OVERLOADED' })
      await jest.advanceTimersByTimeAsync(5_000)
      await refused
    } finally {
      jest.useRealTimers()
    }
  })
})
