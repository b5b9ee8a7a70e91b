import { longList } from './long-list'

const listOf = (count: number) => ({ state: { data: { pages: Array.from({ length: count }) } } })

test('a list of one page is read again while it is shown, and a longer one when the reader asks', () => {
  expect([0, 1, 2].map((count) => longList.refetchInterval(listOf(count)))).toEqual([10_000, 10_000, false])
  expect([1, 2].map((count) => longList.staleTime(listOf(count)))).toEqual([5_000, Infinity])
})
