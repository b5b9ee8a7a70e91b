import { type UsageInterval, type UsageQuery } from '@tollgate/protocol'
import { ApiError } from '@tollgate/service'

/** Both are starts of periods (UTC); `to` is exclusive. */
export type UsageRange = { interval: UsageInterval; from: Date; to: Date }

const HOUR_MS = 3_600_000
const intervals = {
  hour: { ms: HOUR_MS, usual: 24, max: 7 * 24 },
  day: { ms: 24 * HOUR_MS, usual: 30, max: 366 },
}

/** Whole hours or days around the times asked for. @throws ApiError INVALID_REQUEST */
export function usageRangeOf(
  { interval, from, to }: Pick<UsageQuery, 'interval' | 'from' | 'to'>,
  now: Date,
): UsageRange {
  const { ms, usual, max } = intervals[interval]
  const end = Math.ceil((to === undefined ? now.getTime() + 1 : endOf(to)) / ms)
  const start = from === undefined ? end - usual : Math.floor(Date.parse(from) / ms)
  if (start >= end) throw new ApiError('INVALID_REQUEST', 'from: must be before `to`')
  if (end - start > max)
    throw new ApiError(
      'INVALID_REQUEST',
      `from: at most ${max} ${interval}s before \`to\`; ask for several ranges`,
    )
  return { interval, from: new Date(start * ms), to: new Date(end * ms) }
}

/** A date includes all of its day. */
const endOf = (moment: string) => Date.parse(moment) + (moment.includes('T') ? 0 : intervals.day.ms)
