import { createTotals } from './totals'

function counter() {
  const waiting: { filters: string; resolve: (total: number) => void; reject: (error: Error) => void }[] = []
  let seconds = 1
  const totalOf = createTotals(
    ([filters]: readonly [string]) =>
      new Promise<number>((resolve, reject) => {
        waiting.push({ filters, resolve, reject })
      }),
    { now: () => seconds * 1_000 },
  )
  return {
    waiting,
    totalOf: (filters: string) => totalOf([filters], new Date(0)),
    pass: (more: number) => (seconds += more),
  }
}

test('one count answers all who ask for a list at the same time, and for 30 seconds', async () => {
  const { waiting, totalOf, pass } = counter()
  const asked = [totalOf('a'), totalOf('a'), totalOf('b')]
  waiting.forEach(({ filters, resolve }) => resolve(filters === 'a' ? 7 : 8))
  expect(await Promise.all(asked)).toEqual([7, 7, 8])
  pass(30)
  expect(await totalOf('a')).toBe(7)
  expect(waiting).toHaveLength(2)
  pass(1)
  const later = totalOf('a')
  waiting[2]!.resolve(9)
  expect(await later).toBe(9)
})

test('a count that fails is repeated', async () => {
  const { waiting, totalOf } = counter()
  const first = totalOf('a')
  waiting[0]!.reject(new Error('away'))
  await expect(first).rejects.toThrow('away')
  const second = totalOf('a')
  waiting[1]!.resolve(1)
  expect(await second).toBe(1)
})

test('keeps the totals of a bounded number of lists', async () => {
  const { waiting, totalOf } = counter()
  for (let list = 0; list <= 256; list++) {
    const asked = totalOf(String(list))
    waiting.at(-1)!.resolve(list)
    await asked
  }
  expect(await totalOf('256')).toBe(256)
  const again = totalOf('0')
  expect(waiting).toHaveLength(258)
  waiting[257]!.resolve(5)
  expect(await again).toBe(5)
})
