import { exactTime, relativeTime } from './format'

/** Relative to now; exact in the reader's time zone on hover. */
export function Time({ at }: { at: string }) {
  const date = new Date(at)
  return (
    <time dateTime={at} title={exactTime(date)}>
      {relativeTime(date, new Date())}
    </time>
  )
}
