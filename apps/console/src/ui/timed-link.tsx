import { Anchor, VisuallyHidden } from '@mantine/core'
import { Link } from 'wouter'
import { Time } from './time'

/** A link that shows a time, in the list of what is named by it. `name` is for a screen reader. */
export const TimedLink = ({ href, name, at }: { href: string; name: string; at: string }) => (
  <Anchor component={Link} href={href} size="sm">
    <VisuallyHidden>{name}</VisuallyHidden>
    <Time at={at} />
  </Anchor>
)
