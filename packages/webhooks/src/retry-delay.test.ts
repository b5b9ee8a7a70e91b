import { GIVE_UP_AFTER_MS, retryDelay } from './retry-delay'

const [SECOND, MINUTE, HOUR] = [1_000, 60_000, 3_600_000]

test.each([
  [0, 5 * SECOND],
  [5 * SECOND, 5 * SECOND],
  [10 * SECOND, 10 * SECOND],
  [5 * MINUTE, 5 * MINUTE],
  [2 * HOUR, 2 * HOUR],
  [24 * HOUR, 2 * HOUR],
  [GIVE_UP_AFTER_MS - 1, 1],
  [GIVE_UP_AFTER_MS, undefined],
  [GIVE_UP_AFTER_MS + HOUR, undefined],
])('after %d ms the next attempt is due in %d ms', (elapsed, delay) => {
  expect(retryDelay(elapsed, 0.5)).toBe(delay)
})

test.each([
  [0, 9 * SECOND],
  [1, 11 * SECOND],
])('random %d moves it by a tenth', (random, delay) => {
  expect(retryDelay(10 * SECOND, random)).toBe(delay)
})

test('a delivery that always fails is tried about fifty times, the last time after exactly three days', () => {
  const times = [0]
  for (let delay = retryDelay(0, 0.5); delay !== undefined; delay = retryDelay(times.at(-1)!, 0.5))
    times.push(times.at(-1)! + delay)
  expect(times.slice(0, 6)).toEqual([0, 5, 10, 20, 40, 80].map((seconds) => seconds * SECOND))
  expect(times.length).toBe(48)
  expect(times.at(-1)).toBe(GIVE_UP_AFTER_MS)
})
