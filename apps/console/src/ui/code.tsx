import { Box, Button, CopyButton } from '@mantine/core'
import { shared } from '../texts'

type Props = { text: string; label: string; /** For prose, which is read whole. */ isWrapped?: boolean }

/** Text to copy, or an answer to read; scrolls by keyboard. */
export const Code = ({ text, label, isWrapped = false }: Props) => (
  <Box pos="relative">
    <pre
      className={isWrapped ? 'code wrapped' : 'code'}
      tabIndex={0}
      role="region"
      aria-label={shared.textOf(label)}
    >
      {text}
    </pre>
    <CopyButton value={text}>
      {({ copied, copy }) => (
        <Button
          size="compact-xs"
          variant="default"
          pos="absolute"
          top={8}
          right={8}
          onClick={copy}
          aria-label={`${shared.copy}: ${label}`}
        >
          {copied ? shared.copied : shared.copy}
        </Button>
      )}
    </CopyButton>
  </Box>
)
