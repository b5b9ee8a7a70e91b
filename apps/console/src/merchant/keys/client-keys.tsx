import { Anchor, Button, Stack, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Empty } from '../../ui/empty'
import { PagedRows } from '../../ui/paged-rows'
import { Page } from '../../ui/page'
import { ask } from '../api'
import { keyColumns } from './key-columns'
import { KEYS, useClientKeys } from './use-client-keys'

const texts = merchant.keys

export function ClientKeys() {
  const keys = useClientKeys()
  const queries = useQueryClient()
  async function revoke(clientId: string) {
    await ask('DELETE', `/clients/${clientId}`)
    await queries.invalidateQueries({ queryKey: KEYS })
  }
  return (
    <Page
      title={merchant.pages.keys}
      text={texts.text}
      actions={
        <Button component={Link} href="/keys/new" leftSection={<IconPlus size={16} aria-hidden />}>
          {texts.create}
        </Button>
      }
    >
      <PagedRows
        label={merchant.pages.keys}
        pages={keys}
        keyOf={({ clientId }) => clientId}
        columns={keyColumns(revoke)}
        empty={
          <Empty title={texts.none.title}>
            <Stack gap="xs" align="center">
              <Text size="sm">{texts.none.text}</Text>
              <Anchor component={Link} href="/keys/new">
                {texts.create}
              </Anchor>
            </Stack>
          </Empty>
        }
      />
    </Page>
  )
}
