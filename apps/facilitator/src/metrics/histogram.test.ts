import { boundsMs, bucketOf, longestMs } from './histogram'

test('bounds rise from half a millisecond to a minute in steps of at most 10 %', () => {
  expect([boundsMs[0], boundsMs.at(-1)]).toEqual([0.5, 60_000])
  for (const [i, bound] of boundsMs.slice(1).entries()) {
    expect(bound).toBeGreaterThan(boundsMs[i]!)
    expect(bound / boundsMs[i]!).toBeLessThanOrEqual(1.1)
  }
})

test('bounds match the stored counts', () => {
  expect(boundsMs).toHaveLength(125)
  expect([1, 31, 62, 93].map((bucket) => boundsMs[bucket])).toEqual([0.5495, 9.306, 173.2, 3224])
})

test('the reported latency exceeds the measured one by at most 10 %', () => {
  const latencies = Array.from({ length: 100_000 }, () => 0.5 * 120_000 ** Math.random())
  const wrong = [...latencies, ...boundsMs].filter((latency) => {
    const reported = longestMs(bucketOf(latency))
    return reported < latency || reported > latency * 1.1
  })
  expect(wrong).toEqual([])
})

test('latencies outside the bounds count in the first or last bucket', () => {
  expect([0, 0.2, 0.5].map(bucketOf)).toEqual([0, 0, 0])
  expect([60_000, 60_001, 1e9].map(bucketOf)).toEqual([124, 124, 124])
  expect(longestMs(null)).toBe(0)
})
