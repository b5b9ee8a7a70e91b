import { Anchor, Button, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Empty } from '../../ui/empty'
import { PagedRows } from '../../ui/paged-rows'
import { Page } from '../../ui/page'
import { useAssets } from '../use-networks'
import { resourceColumns } from './resource-columns'
import { useResources } from './use-resources'

const texts = merchant.resources

export function Resources() {
  const resources = useResources()
  const { data: assets = [] } = useAssets()
  return (
    <Page
      title={merchant.pages.resources}
      text={texts.text}
      actions={
        <Button component={Link} href="/resources/new" leftSection={<IconPlus size={16} aria-hidden />}>
          {texts.register}
        </Button>
      }
    >
      <PagedRows
        label={merchant.pages.resources}
        pages={resources}
        keyOf={({ id }) => String(id)}
        columns={resourceColumns(assets)}
        empty={
          <Empty title={texts.none.title}>
            <Text size="sm">{texts.none.text}</Text>
            <Anchor component={Link} href="/resources/new">
              {texts.register}
            </Anchor>
          </Empty>
        }
      />
    </Page>
  )
}
