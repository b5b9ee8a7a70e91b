import { Anchor, Box, Card, Group, Stack, Text } from '@mantine/core'
import { Link, Route, Switch } from 'wouter'
import { serviceUrl } from '../../api/api'
import { ColorSchemeButton } from '../../shell/color-scheme-button'
import icon from '../../shell/icon.svg'
import { merchant } from '../../texts'
import { ResetPassword } from './reset-password'
import { SignIn } from './sign-in'
import { SignUp } from './sign-up'

/** The pages without a session. Others keep their address, and are shown after the sign-in. */
export const SignedOut = () => (
  <Box mih="100vh" p="md" className="entrance">
    <Group justify="space-between" component="header">
      <Group gap="xs">
        <img src={icon} alt="" width={28} height={28} />
        <Text fw={700}>Tollgate</Text>
      </Group>
      <ColorSchemeButton />
    </Group>
    <Stack component="main" id="main" maw={420} mx="auto" mt={{ base: 'xl', sm: 72 }} gap="md">
      <Card withBorder padding="lg" radius="lg">
        <Switch>
          <Route path="/sign-up" component={SignUp} />
          <Route path="/reset" component={ResetPassword} />
          <Route component={SignIn} />
        </Switch>
      </Card>
      <Group justify="center" gap="lg">
        <Anchor href={`${serviceUrl}/docs`} size="sm">
          {merchant.signIn.reference}
        </Anchor>
        <Anchor component={Link} href="/operator" size="sm">
          {merchant.signIn.operator}
        </Anchor>
      </Group>
    </Stack>
  </Box>
)
