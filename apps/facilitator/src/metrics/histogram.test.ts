import { boundsMs, bucketOf, longestMs } from './histogram'

test('the bounds go from half a millisecond to a minute, and from each to the next it is a tenth at most', () => {
  expect([boundsMs[0], boundsMs.at(-1)]).toEqual([0.5, 60_000])
  for (const [i, bound] of boundsMs.slice(1).entries()) {
    expect(bound).toBeGreaterThan(boundsMs[i]!)
    expect(bound / boundsMs[i]!).toBeLessThanOrEqual(1.1)
  }
})

test('the bounds are those under which requests were stored', () => {
  expect(boundsMs).toHaveLength(125)
  expect([1, 31, 62, 93].map((bucket) => boundsMs[bucket])).toEqual([0.5495, 9.306, 173.2, 3224])
})

test('what is said of a latency is never less than it was, and at most a tenth more', () => {
  const latencies = Array.from({ length: 100_000 }, () => 0.5 * 120_000 ** Math.random())
  const wrong = [...latencies, ...boundsMs].filter((latency) => {
    const said = longestMs(bucketOf(latency))
    return said < latency || said > latency * 1.1
  })
  expect(wrong).toEqual([])
})

test('what took less than the first bound or longer than the last is counted in these', () => {
  expect([0, 0.2, 0.5].map(bucketOf)).toEqual([0, 0, 0])
  expect([60_000, 60_001, 1e9].map(bucketOf)).toEqual([124, 124, 124])
  expect(longestMs(null)).toBe(0)
})
