import { earliestArrival } from './earliest-arrival'

const now = new Date('2026-11-28T12:00:00.900Z')
const seconds = Math.floor(now.getTime() / 1_000)

test.each<[string, number, number]>([
  ['by our clock, to the second', seconds, seconds - 600],
  ['by our clock if the newest block is old, as of a node that stands still', seconds - 3_000, seconds - 600],
  ['by the newest block if it is ahead', seconds + 30, seconds - 570],
])('the earliest time at which a payment may have been made is %s', (_, timestamp, expected) => {
  expect(earliestArrival(now, { timestamp }, 600)).toBe(BigInt(expected))
})
