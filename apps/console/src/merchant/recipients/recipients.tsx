import { type Recipient } from '@tollgate/protocol'
import { Anchor, Button, Text } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQueryClient } from '@tanstack/react-query'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { ConfirmButton } from '../../ui/confirm-button'
import { Empty } from '../../ui/empty'
import { addressUrl } from '../../ui/explorer'
import { Identifier } from '../../ui/identifier'
import { PagedRows } from '../../ui/paged-rows'
import { Page } from '../../ui/page'
import { type Column } from '../../ui/rows'
import { Time } from '../../ui/time'
import { ask } from '../api'
import { RECIPIENTS, useRecipients } from './use-recipients'

const texts = merchant.recipients
const { columns } = texts

/** Addresses that only this merchant's client keys settle payments to. */
export function Recipients() {
  const recipients = useRecipients()
  const queries = useQueryClient()
  async function release(id: number) {
    await ask('DELETE', `/recipients/${id}`)
    await queries.resetQueries({ queryKey: RECIPIENTS })
  }
  return (
    <Page
      title={merchant.pages.recipients}
      text={texts.text}
      actions={
        <Button component={Link} href="/recipients/new" leftSection={<IconPlus size={16} aria-hidden />}>
          {texts.reserve}
        </Button>
      }
    >
      <PagedRows
        label={merchant.pages.recipients}
        pages={recipients}
        keyOf={({ id }) => String(id)}
        columns={recipientColumns(release)}
        empty={
          <Empty title={texts.none.title}>
            <Text size="sm">{texts.none.text}</Text>
            <Anchor component={Link} href="/recipients/new">
              {texts.reserve}
            </Anchor>
          </Empty>
        }
      />
    </Page>
  )
}

const recipientColumns = (release: (id: number) => Promise<void>): Column<Recipient>[] => [
  {
    title: columns.address,
    width: 'minmax(13rem, 1fr)',
    cell: ({ address, network }) => <Identifier value={address} href={addressUrl(network, address)} />,
  },
  { title: columns.network, width: 'minmax(9rem, 0.8fr)', cell: ({ network }) => network },
  { title: columns.proof, width: '10rem', cell: ({ proof }) => texts.proofs[proof] },
  { title: columns.createdAt, width: '9rem', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: columns.actions,
    width: '7rem',
    cell: ({ id, address, network }) => (
      <ConfirmButton
        label={texts.release}
        aria-label={texts.releaseOne(address, network)}
        text={texts.releaseText(address, network)}
        action={texts.release}
        size="compact-xs"
        run={() => release(id)}
      />
    ),
  },
]
