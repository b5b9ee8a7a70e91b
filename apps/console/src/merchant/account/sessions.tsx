import { type Session } from '@tollgate/protocol'
import { Group, Stack, Table, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { merchant } from '../../texts'
import { ConfirmButton } from '../../ui/confirm-button'
import { Loaded } from '../../ui/loaded'
import { StatusBadge } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { WideTable } from '../../ui/wide-table'
import { ask, get } from '../api'
import { browserOf } from './browser-of'

const texts = merchant.account.sessions

export const SESSIONS = ['sessions']

export function Sessions() {
  const queries = useQueryClient()
  const sessions = useQuery({
    queryKey: SESSIONS,
    queryFn: ({ signal }) => get<Session[]>('/sessions', signal),
  })
  async function end(path: string) {
    await ask('DELETE', path)
    await queries.invalidateQueries({ queryKey: SESSIONS })
  }
  return (
    <Loaded query={sessions}>
      {(all) => (
        <Stack gap="sm">
          <WideTable label={texts.title} minWidth={560}>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{texts.browser}</Table.Th>
                <Table.Th>{texts.signedIn}</Table.Th>
                <Table.Th>{texts.lastUsed}</Table.Th>
                <Table.Th>{texts.expires}</Table.Th>
                <Table.Th>{texts.actions}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {all.map((session) => (
                <Table.Tr key={session.id}>
                  <Table.Td title={session.userAgent ?? ''}>{browserOf(session.userAgent)}</Table.Td>
                  <Table.Td>
                    <Time at={session.createdAt} />
                  </Table.Td>
                  <Table.Td>
                    <Time at={session.lastUsedAt} />
                  </Table.Td>
                  <Table.Td>
                    <Time at={session.expiresAt} />
                  </Table.Td>
                  <Table.Td>
                    {session.current ? (
                      <StatusBadge tone="good">{texts.current}</StatusBadge>
                    ) : (
                      <ConfirmButton
                        label={texts.end}
                        text={texts.endText}
                        action={texts.end}
                        run={() => end(`/sessions/${session.id}`)}
                      />
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </WideTable>
          <Group>
            {all.length > 1 ? (
              <ConfirmButton
                label={texts.endOthers}
                text={texts.endOthersText}
                action={texts.endOthers}
                run={() => end('/sessions')}
              />
            ) : (
              <Text size="sm" c="dimmed">
                {texts.onlyThis}
              </Text>
            )}
          </Group>
        </Stack>
      )}
    </Loaded>
  )
}
