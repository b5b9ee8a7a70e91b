import { Button } from '@mantine/core'
import { IconRefresh } from '@tabler/icons-react'
import { shared } from '../texts'

/** Reads a list again from its first page. */
export const RefreshButton = ({ pages }: { pages: { refetch: () => unknown } }) => (
  <Button
    size="xs"
    variant="default"
    leftSection={<IconRefresh size={16} aria-hidden />}
    onClick={() => void pages.refetch()}
  >
    {shared.refresh}
  </Button>
)
