import { Anchor, Button, Text } from '@mantine/core'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Empty } from '../../ui/empty'

const texts = merchant.settlements.none

export function NoSettlements({ isFiltered, clear }: { isFiltered: boolean; clear: () => void }) {
  if (isFiltered)
    return (
      <Empty title={texts.filtered}>
        <Button size="xs" variant="default" onClick={clear}>
          {merchant.settlements.filters.clear}
        </Button>
      </Empty>
    )
  return (
    <Empty title={texts.title}>
      <Text size="sm">{texts.text}</Text>
      <Anchor component={Link} href="/snippets">
        {texts.toSnippets}
      </Anchor>
    </Empty>
  )
}
