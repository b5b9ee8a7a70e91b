import { createBlockSchedule } from './block-schedule'

/** Polls as the tracking loop does, of a chain with a block at each multiple of `blockMs`; returns the times of the polls. */
function poll(
  schedule: ReturnType<typeof createBlockSchedule>,
  { from, until, blockMs }: { from: number; until: number; blockMs: number },
) {
  const headAt = (now: number) => ({
    number: BigInt(Math.floor(now / blockMs)),
    timestamp: (Math.floor(now / blockMs) * blockMs) / 1_000,
  })
  const polls: number[] = []
  schedule.sentTransaction(from)
  schedule.tracked(headAt(from), from)
  for (let now = from + schedule.nextPollMs(from); now < until; now += schedule.nextPollMs(now)) {
    polls.push(now)
    schedule.isNew(headAt(now), now)
  }
  return polls
}

describe('createBlockSchedule', () => {
  test('sees the first block after an idle time within 20 ms', () => {
    const polls = poll(createBlockSchedule(), { from: 100_700, until: 102_100, blockMs: 2_000 })
    expect(polls.find((at) => at >= 102_000)).toBeLessThanOrEqual(102_020)
  })

  test('sees later blocks within 20 ms, with few polls between them', () => {
    const schedule = createBlockSchedule()
    poll(schedule, { from: 100_700, until: 102_100, blockMs: 2_000 })
    const polls = poll(schedule, { from: 102_200, until: 104_100, blockMs: 2_000 })
    expect(polls.find((at) => at >= 104_000)).toBeLessThanOrEqual(104_020)
    expect(polls.filter((at) => at < 104_000).length).toBeLessThan(25)
  })

  test('polls seldom when a transaction stays open', () => {
    const polls = poll(createBlockSchedule(), { from: 1_000, until: 31_000, blockMs: 1_000_000 })
    expect(polls.filter((at) => at > 6_000).length).toBeLessThanOrEqual(100)
  })

  test('lets open transactions be tracked without a new block, less and less often', () => {
    const schedule = createBlockSchedule()
    schedule.sentTransaction(0)
    const due: number[] = []
    for (let now = 0; now < 20_000; now += 10)
      if (schedule.isTrackingDue(now)) {
        due.push(now)
        schedule.tracked({ number: 1n, timestamp: 1 }, now)
      }
    expect(due.slice(0, 4)).toEqual([0, 150, 380, 720])
    expect(due.at(-1)! - due.at(-2)!).toBe(2_000)
  })
})
