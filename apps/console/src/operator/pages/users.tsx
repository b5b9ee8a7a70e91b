import { Group, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQueryClient } from '@tanstack/react-query'
import { type OperatorUser } from '@tollgate/protocol'
import { useState } from 'react'
import { withQuery } from '../../api/api'
import { operator } from '../../texts'
import { ConfirmButton } from '../../ui/confirm-button'
import { Empty } from '../../ui/empty'
import { isolated } from '../../ui/isolated'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { type Column, Rows } from '../../ui/rows'
import { SecretOnce } from '../../ui/secret-once'
import { Status } from '../../ui/status'
import { StatusBadge } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { useAdmin, useAdminData } from '../admin'

const texts = operator.users
const TYPING_MS = 300
const PAGE_ROWS = 100

type IssuedReset = { email: string; token: string }

export function Users() {
  const { request } = useAdmin()
  const queries = useQueryClient()
  const [email, setEmail] = useState('')
  const [prefix] = useDebouncedValue(email.trim(), TYPING_MS)
  const [reset, setReset] = useState<IssuedReset>()
  const users = useAdminData<OperatorUser[]>(withQuery('/users', { email: prefix, limit: PAGE_ROWS }), {
    isLive: false,
    keepsPrevious: true,
  })

  async function act(id: number, action: 'disable' | 'enable') {
    await request('POST', `/users/${id}/${action}`)
    await queries.invalidateQueries({ queryKey: ['admin'] })
  }

  async function resetPassword({ id, email: address }: OperatorUser) {
    const { token } = await request<{ token: string }>('POST', `/users/${id}/password-reset`)
    setReset({ email: address, token })
  }

  return (
    <Page title={texts.title} text={texts.text}>
      <TextInput
        label={texts.search}
        value={email}
        onChange={(event) => setEmail(event.target.value)}
        maw={360}
      />
      <Status>
        {reset && (
          <SecretOnce
            title={texts.resetFor(reset.email)}
            secrets={[[texts.token, reset.token]]}
            onDone={() => setReset(undefined)}
          />
        )}
      </Status>
      <Loaded query={users}>
        {(found) =>
          found.length === 0 ? (
            <Empty title={texts.none} />
          ) : (
            <Rows
              label={texts.title}
              rows={found}
              keyOf={({ id }) => String(id)}
              columns={columnsOf({ act, resetPassword })}
            />
          )
        }
      </Loaded>
    </Page>
  )
}

type Actions = {
  act: (id: number, action: 'disable' | 'enable') => Promise<void>
  resetPassword: (user: OperatorUser) => Promise<void>
}

const columnsOf = ({ act, resetPassword }: Actions): Column<OperatorUser>[] => [
  { title: texts.id, width: 'minmax(4rem, 0.4fr)', cell: ({ id }) => id },
  {
    title: texts.email,
    width: 'minmax(13rem, 1.6fr)',
    isWrapped: true,
    cell: ({ email }) => <span title={isolated(email)}>{isolated(email)}</span>,
  },
  {
    title: texts.state,
    width: 'minmax(8rem, 0.7fr)',
    cell: ({ disabledAt, isAdmin }) =>
      disabledAt === null ? (
        <StatusBadge tone="good">{isAdmin ? texts.admin : texts.active}</StatusBadge>
      ) : (
        <StatusBadge tone="bad">{texts.disabled}</StatusBadge>
      ),
  },
  { title: texts.keys, width: 'minmax(4rem, 0.4fr)', isRight: true, cell: ({ liveKeys }) => liveKeys },
  { title: texts.created, width: 'minmax(8rem, 0.8fr)', cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    title: texts.actions,
    width: 'minmax(17rem, 1.2fr)',
    cell: (user) => (
      <Group gap={6} wrap="nowrap">
        {user.disabledAt === null ? (
          <ConfirmButton
            label={texts.disable}
            aria-label={texts.disableUser(user.email)}
            title={texts.disableUser(user.email)}
            text={texts.disableText(user.email)}
            action={texts.disable}
            run={() => act(user.id, 'disable')}
          />
        ) : (
          <ConfirmButton
            label={texts.enable}
            aria-label={texts.enableUser(user.email)}
            title={texts.enableUser(user.email)}
            text={texts.enableText(user.email)}
            action={texts.enable}
            run={() => act(user.id, 'enable')}
          />
        )}
        <ConfirmButton
          label={texts.resetPassword}
          aria-label={texts.resetFor(user.email)}
          title={texts.resetFor(user.email)}
          text={texts.resetText(user.email)}
          action={texts.resetPassword}
          run={() => resetPassword(user)}
        />
      </Group>
    ),
  },
]
