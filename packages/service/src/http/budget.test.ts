import { createBudget } from './budget'

const of = (key: string, share = 5) => [{ key, share }]

describe('a budget', () => {
  test('is bounded in all, and for each holder', () => {
    const { reserve } = createBudget({ total: 8, patienceMs: 60_000 })
    const first = reserve(3, of('a'))
    expect(first).toBeDefined()
    expect(reserve(3, of('a'))).toBeUndefined()
    expect(reserve(2, of('a'))).toBeDefined()
    expect(reserve(4, of('b'))).toBeUndefined()
    expect(reserve(3, of('b'))).toBeDefined()
    first!.release()
    first!.release()
    expect(reserve(4, of('c'))).toBeUndefined()
    expect(reserve(3, of('c'))).toBeDefined()
  })

  test('counts a reservation for all of its holders', () => {
    const { reserve } = createBudget({ total: 100, patienceMs: 60_000 })
    const both = reserve(4, [...of('wallet'), ...of('address', 10)])
    expect(reserve(4, [...of('other wallet'), ...of('address', 10)])).toBeDefined()
    expect(reserve(4, [...of('third wallet'), ...of('address', 10)])).toBeUndefined()
    both!.release()
    expect(reserve(4, [...of('third wallet'), ...of('address', 10)])).toBeDefined()
  })

  test('lets the oldest give way that can, of the holder whose share is full, or of any', () => {
    const { reserve } = createBudget({ total: 6, patienceMs: 0 })
    const evicted: string[] = []
    const evictable = (name: string) => () => void evicted.push(name)
    reserve(2, of('b'), evictable('b1'))
    const kept = reserve(2, of('a', 4), evictable('a1'))
    kept!.keep()
    reserve(2, of('a', 4), evictable('a2'))
    expect(reserve(2, of('a', 4), evictable('a3'))).toBeDefined()
    expect(evicted).toEqual(['a2'])
    expect(reserve(4, of('c', 10))).toBeDefined()
    expect(evicted).toEqual(['a2', 'b1', 'a3'])
    expect(reserve(1, of('d'))).toBeUndefined()
  })

  test('lets none give way that is younger than its patience', () => {
    const { reserve } = createBudget({ total: 1, patienceMs: 60_000 })
    const evict = jest.fn()
    reserve(1, of('a'), evict)
    expect(reserve(1, of('b'))).toBeUndefined()
    expect(evict).not.toHaveBeenCalled()
  })
})
