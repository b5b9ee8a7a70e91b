import { createClock } from '../testing/clock'
import { createCircuits } from './circuits'

const urls = ['http://one', 'http://two']
const [one, two] = urls as [string, string]

function circuits() {
  const clock = createClock()
  const { inTurn, served, failed } = createCircuits(clock.now)
  const order = (baseUrls = urls) => [...inTurn(baseUrls)]
  const fail = (times: number, retryAfter?: string) => {
    for (let failure = 0; failure < times; failure++) failed(one, retryAfter)
  }
  return { clock, inTurn, served, failed, fail, order }
}

describe('an upstream', () => {
  test('that failed four times is asked in its turn, and after the fifth last, for five seconds', () => {
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

  test('is well after one answer, whenever it comes', () => {
    const { fail, served, order } = circuits()
    fail(4)
    served(one)
    fail(4)
    expect(order()).toEqual([one, two])
    fail(1)
    served(one)
    expect(order()).toEqual([one, two])
  })

  test('that failed is tried by one call at a time when its time has passed', () => {
    const { clock, inTurn, failed, fail, order } = circuits()
    fail(5)
    clock.advance(5)
    const probe = inTurn(urls)
    expect(probe.next().value).toBe(one)
    expect([order(), order()]).toEqual([
      [two, one],
      [two, one],
    ])
    failed(one)
    expect(probe.next().value).toBe(two)
    expect(order()).toEqual([two, one])
    clock.advance(5)
    expect(order()).toEqual([one, two])
  })

  test('is tried by the next call where the one that tried it was broken off', () => {
    const { clock, inTurn, fail, order } = circuits()
    fail(5)
    clock.advance(5)
    const probe = inTurn(urls)
    probe.next()
    expect(order()).toEqual([two, one])
    probe.return()
    expect(order()).toEqual([one, two])
  })

  test('that asks for rest gets it after one failure, but not for longer than thirty seconds', () => {
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
    'that asks for rest in a way that means none (%j) gets none',
    (retryAfter) => {
      const { fail, order } = circuits()
      fail(1, retryAfter)
      expect(order()).toEqual([one, two])
    },
  )

  test('that is the only one is asked all the same', () => {
    const { fail, order } = circuits()
    fail(100)
    expect(order([one])).toEqual([one])
  })
})
