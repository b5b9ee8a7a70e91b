import { createBudget } from './memory-budget'

const of = (key: string, share = 5) => [{ key, share }]

describe('createBudget', () => {
  test('limits the total and the share of each holder', () => {
    const { reserve } = createBudget({ total: 8, evictAfterMs: 60_000 })
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

  test('counts a reservation against all its holders', () => {
    const { reserve } = createBudget({ total: 100, evictAfterMs: 60_000 })
    const both = reserve(4, [...of('wallet'), ...of('address', 10)])
    expect(reserve(4, [...of('other wallet'), ...of('address', 10)])).toBeDefined()
    expect(reserve(4, [...of('third wallet'), ...of('address', 10)])).toBeUndefined()
    both!.release()
    expect(reserve(4, [...of('third wallet'), ...of('address', 10)])).toBeDefined()
  })

  test('evicts the oldest evictable reservation, of the holder whose share is full or of any', () => {
    const { reserve } = createBudget({ total: 6, evictAfterMs: 0 })
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

  test('evicts no reservation younger than evictAfterMs', () => {
    const { reserve } = createBudget({ total: 1, evictAfterMs: 60_000 })
    const evict = jest.fn()
    reserve(1, of('a'), evict)
    expect(reserve(1, of('b'))).toBeUndefined()
    expect(evict).not.toHaveBeenCalled()
  })
})
