import { ActionIcon, Box, Code, CopyButton } from '@mantine/core'
import { IconCheck, IconCopy } from '@tabler/icons-react'
import { shared } from '../texts'

/** Code to copy. It scrolls by keyboard. */
export const CodeBlock = ({ label, code }: { label: string; code: string }) => (
  <Box pos="relative" mt="xs">
    <Code block tabIndex={0} role="region" aria-label={label} className="code-block">
      {code}
    </Code>
    <CopyButton value={code}>
      {({ copied, copy }) => (
        <ActionIcon
          variant="default"
          className="code-copy"
          onClick={copy}
          aria-label={`${copied ? shared.copied : shared.copy}: ${label}`}
        >
          {copied ? <IconCheck size={16} aria-hidden /> : <IconCopy size={16} aria-hidden />}
        </ActionIcon>
      )}
    </CopyButton>
  </Box>
)
