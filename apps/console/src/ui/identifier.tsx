import { ActionIcon, CopyButton, Group, Text } from '@mantine/core'
import { IconCheck, IconCopy, IconExternalLink } from '@tabler/icons-react'
import { shared } from '../texts'
import { shortened } from './format'
import { isolated } from './isolated'

type Props = {
  value: string
  /** In the block explorer. */
  href?: string | undefined
  /** Default: the short form. */
  isWhole?: boolean
}

/** An address, a hash or an id: short, the whole on hover, with a button that copies it. */
export function Identifier({ value, href, isWhole = false }: Props) {
  const shown = isolated(value)
  return (
    <Group gap={4} wrap="nowrap" component="span" display="inline-flex" maw="100%">
      <Text component="span" inherit className="mono" title={shown} truncate={!isWhole}>
        {isWhole ? shown : shortened(shown)}
      </Text>
      <CopyButton value={value}>
        {({ copied, copy }) => (
          <ActionIcon
            size={24}
            variant="subtle"
            color="gray"
            onClick={copy}
            aria-label={`${copied ? shared.copied : shared.copy}: ${shortened(shown)}`}
          >
            {copied ? <IconCheck size={14} aria-hidden /> : <IconCopy size={14} aria-hidden />}
          </ActionIcon>
        )}
      </CopyButton>
      {href !== undefined && (
        <ActionIcon
          component="a"
          size={24}
          variant="subtle"
          href={href}
          target="_blank"
          rel="noreferrer"
          aria-label={`${shared.openExplorer}: ${shortened(shown)}`}
        >
          <IconExternalLink size={14} aria-hidden />
        </ActionIcon>
      )}
    </Group>
  )
}
