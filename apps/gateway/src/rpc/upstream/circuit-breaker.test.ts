import { createClock } from '../../testing/clock'
import { createCircuitBreaker } from './circuit-breaker'

const urls = ['http://one', 'http://two']
const [one, two] = urls as [string, string]

function circuits() {
  const clock = createClock()
  const { candidates, recordSuccess, recordFailure } = createCircuitBreaker(clock.now)
  const order = (baseUrls = urls) => [...candidates(baseUrls)]
  const fail = (times: number, retryAfter?: string) => {
    for (let failure = 0; failure < times; failure++) recordFailure(one, retryAfter)
  }
  return { clock, candidates, recordSuccess, recordFailure, fail, order }
}

describe('an upstream', () => {
  test('keeps its position after four failures, and is last for five seconds after the fifth', () => {
    const { clock, fail, order } = circuits()
    fail(4)
    expect(order()).toEqual([one, two])
    fail(1)
    expect(order()).toEqual([two, one])
    clock.advance(4.9)
    expect(order()).toEqual([two, one])
    clock.advance(0.1)
    expect(order()).toEqual([one, two])
  })

  test('recovers after one success', () => {
    const { fail, recordSuccess, order } = circuits()
    fail(4)
    recordSuccess(one)
    fail(4)
    expect(order()).toEqual([one, two])
    fail(1)
    recordSuccess(one)
    expect(order()).toEqual([one, two])
  })

  test('is probed by one call at a time when its pause has ended', () => {
    const { clock, candidates, recordFailure, fail, order } = circuits()
    fail(5)
    clock.advance(5)
    const probe = candidates(urls)
    expect(probe.next().value).toBe(one)
    expect([order(), order()]).toEqual([
      [two, one],
      [two, one],
    ])
    recordFailure(one)
    expect(probe.next().value).toBe(two)
    expect(order()).toEqual([two, one])
    clock.advance(5)
    expect(order()).toEqual([one, two])
  })

  test('is probed by the next call if the probe was abandoned', () => {
    const { clock, candidates, fail, order } = circuits()
    fail(5)
    clock.advance(5)
    const probe = candidates(urls)
    probe.next()
    expect(order()).toEqual([two, one])
    probe.return()
    expect(order()).toEqual([one, two])
  })

  test('with Retry-After is last after one failure, for at most thirty seconds', () => {
    for (const [retryAfter, seconds] of [
      ['7', 7],
      ['3600', 30],
      [new Date(createClock().now().getTime() + 12_000).toUTCString(), undefined],
    ] as const) {
      const { clock, fail, order } = circuits()
      fail(1, retryAfter)
      expect(order()).toEqual([two, one])
      if (seconds === undefined) continue
      clock.advance(seconds - 0.1)
      expect(order()).toEqual([two, one])
      clock.advance(0.1)
      expect(order()).toEqual([one, two])
    }
  })

  test.each(['0', '-5', 'soon', '', '1e9', 'Thu, 01 Jan 1970 00:00:00 GMT'])(
    'with an invalid Retry-After (%j) is not paused',
    (retryAfter) => {
      const { fail, order } = circuits()
      fail(1, retryAfter)
      expect(order()).toEqual([one, two])
    },
  )

  test('that is the only one is used even if its circuit is open', () => {
    const { fail, order } = circuits()
    fail(100)
    expect(order([one])).toEqual([one])
  })
})
