import { parseWrk, runWrk } from './wrk'

const OUTPUT = `Running 5s test @ http://127.0.0.1:3000/rpc
  2 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    25.11ms    3.40ms 101.33ms   88.11%
    Req/Sec     1.28k   120.50     1.50k    70.00%
  Latency Distribution
     50%  500.00us
     75%   26.11ms
     90%   28.90ms
     99%    1.02s 
  12806 requests in 5.03s, 3.11MB read
  Socket errors: connect 1, read 2, write 3, timeout 4
  Non-2xx or 3xx responses: 17
Requests/sec:   2546.70
Transfer/sec:    633.80KB
`

test('reads rates, percentiles and errors', () => {
  expect(parseWrk(OUTPUT)).toEqual({
    requests: 12_806,
    requestsPerSecond: 2546.7,
    bytesPerSecond: 633.8 * 1024,
    latencyMs: { p50: 0.5, p75: 26.11, p90: 28.9, p99: 1020, max: 101.33 },
    failedAnswers: 17,
    socketErrors: { connect: 1, read: 2, write: 3, timeout: 4 },
  })
})

test('has no errors where wrk prints none', () => {
  const { failedAnswers, socketErrors } = parseWrk(OUTPUT.replace(/.*(errors|Non-2xx).*\n/g, ''))
  expect([failedAnswers, ...Object.values(socketErrors)]).toEqual([0, 0, 0, 0, 0])
})

test('refuses other output, with its text', () => {
  expect(() => parseWrk('unable to connect')).toThrow(/unable to connect/)
})

test('says what to install where wrk is missing', async () => {
  const path = process.env['PATH']
  process.env['PATH'] = '/nonexistent'
  try {
    await expect(
      runWrk({ url: 'http://127.0.0.1:9', connections: 1, seconds: 1, folder: '/tmp' }),
    ).rejects.toThrow('wrk is not on the PATH: install the Debian package wrk')
  } finally {
    process.env['PATH'] = path
  }
})
