import { exactTime } from './format'
import { useRelativeTime } from './use-relative-time'

/** Relative to now; exact in the reader's time zone on hover. */
export const Time = ({ at }: { at: string }) => (
  <time dateTime={at} title={exactTime(new Date(at))}>
    {useRelativeTime(at)}
  </time>
)
