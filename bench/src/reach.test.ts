import { type Reach } from './benchmark'
import { isReached, reachText } from './reach'

const table: [reach: Reach, text: string, reached: number, missed: number][] = [
  [{ atLeast: 0.6 }, '>= 0.60', 0.6, 0.5999],
  [{ atLeast: 10 }, '>= 10', 12, 9.99],
  [{ atMost: 2 }, '<= 2', 2, 2.001],
  [{ atMost: 1.2 }, '<= 1.2', 0.1, 1.21],
  [{ below: 1.5 }, '< 1.5', 1.499, 1.5],
  [{ below: 1 }, '< 1', 0.99, 1],
]

test.each(table)('%j is written %s, and its bound decides', (reach, text, reached, missed) => {
  expect(reachText(reach)).toBe(text)
  expect(isReached(reached, reach)).toBe(true)
  expect(isReached(missed, reach)).toBe(false)
})
