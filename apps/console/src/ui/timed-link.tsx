import { Anchor } from '@mantine/core'
import { Link } from 'wouter'
import { relativeTime } from './format'
import { Time } from './time'

type Props = {
  href: string
  /** Of what the link leads to, for a screen reader. */
  name: string
  at: string
}

/** A link that shows a time, for a list of what has no other name. */
export const TimedLink = ({ href, name, at }: Props) => (
  <Anchor
    component={Link}
    href={href}
    size="sm"
    aria-label={`${name}, ${relativeTime(new Date(at), new Date())}`}
  >
    <Time at={at} />
  </Anchor>
)
