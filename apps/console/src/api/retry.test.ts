import { ApiError } from './api-error'
import { retryAfterOf, retryDelayOf, shouldRetry } from './retry'

const now = Date.parse('2026-01-31T12:00:00Z')

test.each([
  [null, undefined],
  ['', undefined],
  ['7', 7_000],
  ['Sat, 31 Jan 2026 12:00:09 GMT', 9_000],
  ['Sat, 31 Jan 2026 11:00:00 GMT', 0],
  ['soon', undefined],
])('Retry-After %j is %s milliseconds', (header, milliseconds) => {
  expect(retryAfterOf(header, now)).toBe(milliseconds)
})

const refused = (status: number, retryAfterMs?: number) =>
  new ApiError(status, 'CODE', 'text', undefined, { retryAfterMs })

test.each([
  [0, refused(429, 2_000), true, 2_000],
  [2, refused(503, 1_000), true, 2_000],
  [0, refused(429, 60_000), false, 60_000],
  [0, refused(500), true, 500],
  [9, refused(500), false, 8_000],
  [0, refused(404), false, 500],
  [0, new TypeError('bug'), false, 500],
])('after %d failures, %j is repeated: %s, after %d ms', (failures, error, isRepeated, delay) => {
  expect([shouldRetry(failures, error), retryDelayOf(failures, error)]).toEqual([isRepeated, delay])
})
