import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { Time } from './time'
import { useRelativeTime } from './use-relative-time'

type Props = {
  href: string
  /** Of what the link leads to, for a screen reader. */
  name: string
  at: string
}

/** A link that shows a time, for a list of what has no other name. */
export const TimedLink = ({ href, name, at }: Props) => (
  <Anchor component={Link} href={href} size="sm" aria-label={`${name}, ${useRelativeTime(at)}`}>
    <Time at={at} />
  </Anchor>
)
