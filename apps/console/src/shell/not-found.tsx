import { Anchor, Text } from '@mantine/core'
import { Link } from 'wouter'
import { shared } from '../texts'
import { Page } from '../ui/page'

export const NotFound = () => (
  <Page title={shared.notFound.title}>
    <Text>
      {shared.notFound.text}{' '}
      <Anchor component={Link} href="/" underline="always">
        {shared.notFound.home}
      </Anchor>
    </Text>
  </Page>
)
