import { Tooltip as MantineTooltip } from '@mantine/core'
import { type ReactElement } from 'react'

/** `text` beside `children` on hover, on focus and on touch. */
export const Tooltip = ({ text, children }: { text: string; children: ReactElement }) => (
  <MantineTooltip label={text} events={{ hover: true, focus: true, touch: true }}>
    {children}
  </MantineTooltip>
)
