import { Badge } from '@mantine/core'

export type Tone = 'good' | 'bad' | 'waiting' | 'neutral'

const colors: Record<Tone, string> = { good: 'green', bad: 'red', waiting: 'yellow', neutral: 'gray' }

/** The word carries the meaning; the colour only repeats it. */
export const StatusBadge = ({ tone, children }: { tone: Tone; children: string }) => (
  <Badge variant="light" color={colors[tone]} autoContrast tt="none" className="status-badge">
    {children}
  </Badge>
)
