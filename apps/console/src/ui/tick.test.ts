import { tickOf, TICK_MS } from './tick'

const tick = 1_000 * TICK_MS

test.each([
  ['long ago', -60_000, 1_234, 0],
  ['since the last tick', 1_000, 1_234, 1_000],
  ['now', 1_234, 1_234, 1_234],
  ['in the future', 60_000, 1_234, 0],
])('a time that is %s is seen from the tick, but not from before it', (_, at, now, seenFrom) => {
  expect(tickOf(new Date(tick + at), tick + now)).toEqual(new Date(tick + seenFrom))
})
