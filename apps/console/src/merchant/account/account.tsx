import { Group, Stack, Text } from '@mantine/core'
import { merchant } from '../../texts'
import { Facts } from '../../ui/facts'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { StatusBadge } from '../../ui/status-badge'
import { Time } from '../../ui/time'
import { DeleteAccount } from './delete-account'
import { PasswordForm } from './password-form'
import { Sessions } from './sessions'
import { useMe } from './use-me'

const texts = merchant.account

export function Account() {
  const me = useMe()
  return (
    <Page title={merchant.pages.account}>
      <Section title={texts.who}>
        <Loaded query={me}>
          {({ email, id, isAdmin, createdAt }) => (
            <Facts
              facts={[
                [merchant.signIn.email, email],
                [texts.number, id],
                [texts.since, <Time key="since" at={createdAt} />],
                [
                  texts.role,
                  isAdmin && (
                    <Group gap="xs" key="role">
                      <StatusBadge tone="neutral">{texts.admin}</StatusBadge>
                      <Text size="sm">{texts.adminText}</Text>
                    </Group>
                  ),
                ],
              ]}
            />
          )}
        </Loaded>
      </Section>
      <Section title={texts.password.title}>
        <PasswordForm />
      </Section>
      <Section title={texts.sessions.title}>
        <Sessions />
      </Section>
      <Section title={texts.deletion.title}>
        <Stack gap="sm" align="flex-start">
          <Text size="sm">{texts.deletion.text}</Text>
          <DeleteAccount />
        </Stack>
      </Section>
    </Page>
  )
}
