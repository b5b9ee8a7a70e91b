import { Skeleton, Stack, Text, VisuallyHidden } from '@mantine/core'
import { useEffect, useState } from 'react'
import { shared } from '../texts'

const SLOW_MS = 5_000

/** Grey bars hold the place of data that is being read. After some seconds they name the service that does not answer. */
export function Loading({ lines = 4 }: { lines?: number }) {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = window.setTimeout(() => setSlow(true), SLOW_MS)
    return () => window.clearTimeout(timer)
  }, [])
  return (
    <Stack gap="sm" role="status" aria-busy>
      <VisuallyHidden>{shared.loading}</VisuallyHidden>
      {isSlow && <Text size="sm">{shared.slow}</Text>}
      {Array.from({ length: lines }, (_, at) => (
        <Skeleton key={at} height={at === 0 ? 28 : 18} width={at === 0 ? '40%' : '100%'} />
      ))}
    </Stack>
  )
}
