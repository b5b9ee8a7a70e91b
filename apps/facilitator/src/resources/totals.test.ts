import { endOfTurn } from '@tollgate/service'
import { createTotals } from './totals'

function counter() {
  const waiting: { filters: string; resolve: (total: number) => void; reject: (error: Error) => void }[] = []
  const totalOf = createTotals(
    (filters: string) =>
      new Promise<number>((resolve, reject) => {
        waiting.push({ filters, resolve, reject })
      }),
  )
  const at = (seconds: number) => new Date(seconds * 1_000)
  return { waiting, totalOf: (filters: string, seconds: number) => totalOf(filters, at(seconds)) }
}

test('one count answers all who ask for a list at the same time, and for five seconds', async () => {
  const { waiting, totalOf } = counter()
  const asked = [totalOf('a', 0), totalOf('a', 1), totalOf('b', 0)]
  waiting.forEach(({ filters, resolve }) => resolve(filters === 'a' ? 7 : 8))
  expect(await Promise.all(asked)).toEqual([7, 7, 8])
  expect(await totalOf('a', 5)).toBe(7)
  expect(waiting).toHaveLength(2)
})

test('an older total is counted again in the background, and is never older than 30 seconds', async () => {
  const { waiting, totalOf } = counter()
  const first = totalOf('a', 0)
  waiting[0]!.resolve(1)
  await first
  expect(await totalOf('a', 6)).toBe(1)
  expect(await totalOf('a', 7)).toBe(1)
  expect(waiting).toHaveLength(2)
  waiting[1]!.resolve(2)
  await endOfTurn()
  expect(await totalOf('a', 8)).toBe(2)
  const later = totalOf('a', 37)
  waiting[2]!.resolve(3)
  expect(await later).toBe(3)
})

test('a count that fails is repeated', async () => {
  const { waiting, totalOf } = counter()
  const first = totalOf('a', 0)
  waiting[0]!.reject(new Error('away'))
  await expect(first).rejects.toThrow('away')
  const second = totalOf('a', 0)
  waiting[1]!.resolve(1)
  expect(await second).toBe(1)
  const third = totalOf('a', 10)
  waiting[2]!.reject(new Error('away'))
  expect(await third).toBe(1)
})

test('keeps the totals of a bounded number of lists', async () => {
  const { waiting, totalOf } = counter()
  for (let list = 0; list <= 256; list++) {
    const asked = totalOf(String(list), 0)
    waiting.at(-1)!.resolve(list)
    await asked
  }
  expect(await totalOf('256', 1)).toBe(256)
  const again = totalOf('0', 1)
  expect(waiting).toHaveLength(258)
  waiting[257]!.resolve(5)
  expect(await again).toBe(5)
})
