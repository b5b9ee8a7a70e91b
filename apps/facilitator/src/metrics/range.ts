import { MetricsQuery } from '@tollgate/protocol'
import { ApiError, parse } from '@tollgate/service'
import { dayOf } from './day'

const DAY_MS = 86_400_000

export type Span = 'day' | 'month' | 'all'

/** Days as `YYYY-MM-DD`, both inclusive. */
export type Range = { from: string; to: string }

const maxLength = { day: 366, month: 120, all: Infinity }
const defaultLength = { day: 30, month: 12, all: Infinity }
const EVER: Range = { from: '0001-01-01', to: '9999-12-31' }

/** Defaults to the last 30 days, the last 12 months or all time. @throws ApiError INVALID_REQUEST */
export function readRange(rawQuery: unknown, span: Span, now: Date): Range {
  const query = parse(MetricsQuery, rawQuery)
  const to = query.to ?? (span === 'all' ? EVER.to : dayOf(now))
  const from = query.from ?? defaultStart(to, span)
  if (from > to)
    throw new ApiError(
      'INVALID_REQUEST',
      `from: must not be later than to${query.to === undefined ? ', which is today (UTC) where it is left out' : ''}`,
    )
  if (length({ from, to }, span) > maxLength[span])
    throw new ApiError(
      'INVALID_REQUEST',
      `from: at most ${maxLength[span]} ${span}s can be asked for at once`,
    )
  return { from, to }
}

function defaultStart(to: string, span: Span): string {
  if (span === 'all') return EVER.from
  const last = new Date(to)
  const first =
    span === 'day'
      ? last.getTime() - (defaultLength.day - 1) * DAY_MS
      : new Date(`${to.slice(0, 7)}-01`).setUTCMonth(last.getUTCMonth() - (defaultLength.month - 1))
  const start = new Date(first)
  return start.getUTCFullYear() < 1 ? EVER.from : dayOf(start)
}

function length({ from, to }: Range, span: Span): number {
  const [first, last] = [new Date(from), new Date(to)]
  if (span === 'day') return (last.getTime() - first.getTime()) / DAY_MS + 1
  const months = (date: Date) => date.getUTCFullYear() * 12 + date.getUTCMonth()
  return months(last) - months(first) + 1
}
