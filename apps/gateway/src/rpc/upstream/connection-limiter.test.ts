import { createConnectionLimiter, type Slot } from './connection-limiter'

const createSlots = (limits: { max: number; maxPerHolder: number }) => {
  const slotAt = createConnectionLimiter(limits)
  const started: string[] = []
  const acquire = (holder: string, name = holder, origin = 'here'): Slot => {
    const slot = slotAt(origin, holder)
    slot.acquire(() => started.push(name))
    return slot
  }
  return { acquire, started }
}

test('starts up to the maximum at once, and the others in order as slots become free', () => {
  const { acquire, started } = createSlots({ max: 2, maxPerHolder: 2 })
  const [first, second] = [acquire('a'), acquire('b')]
  acquire('c')
  acquire('d')
  expect(started).toEqual(['a', 'b'])
  second.release()
  expect(started).toEqual(['a', 'b', 'c'])
  first.release()
  expect(started).toEqual(['a', 'b', 'c', 'd'])
})

test('a holder gets at most its maximum, and is skipped until one of its requests ends', () => {
  const { acquire, started } = createSlots({ max: 3, maxPerHolder: 2 })
  const first = acquire('greedy', '1')
  acquire('greedy', '2')
  acquire('greedy', '3')
  acquire('modest', 'm')
  expect(started).toEqual(['1', '2', 'm'])
  first.release()
  expect(started).toEqual(['1', '2', 'm', '3'])
})

test('a request that leaves the queue is never started, and releasing twice frees one slot', () => {
  const { acquire, started } = createSlots({ max: 1, maxPerHolder: 1 })
  const first = acquire('a')
  const second = acquire('b')
  second.release()
  acquire('c')
  acquire('d')
  first.release()
  first.release()
  expect(started).toEqual(['a', 'c'])
})

test('origins are independent', () => {
  const { acquire, started } = createSlots({ max: 1, maxPerHolder: 1 })
  acquire('a')
  acquire('a', 'elsewhere', 'there')
  expect(started).toEqual(['a', 'elsewhere'])
})
