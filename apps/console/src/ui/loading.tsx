import { Skeleton, Stack, VisuallyHidden } from '@mantine/core'
import { shared } from '../texts'

/** In the place of what is being read. */
export function Loading({ lines = 4 }: { lines?: number }) {
  return (
    <Stack gap="sm" role="status" aria-busy>
      <VisuallyHidden>{shared.loading}</VisuallyHidden>
      {Array.from({ length: lines }, (_, at) => (
        <Skeleton key={at} height={at === 0 ? 28 : 18} width={at === 0 ? '40%' : '100%'} />
      ))}
    </Stack>
  )
}
