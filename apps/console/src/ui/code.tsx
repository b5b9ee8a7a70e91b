import { Box, Button, CopyButton } from '@mantine/core'
import { shared } from '../texts'

/** Text to copy, or an answer to read; scrolls by keyboard. */
export const Code = ({ text, label }: { text: string; label: string }) => (
  <Box pos="relative">
    <pre className="code" tabIndex={0} role="region" aria-label={shared.textOf(label)}>
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
