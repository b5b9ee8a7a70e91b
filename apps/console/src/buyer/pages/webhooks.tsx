import { Button, Text } from '@mantine/core'
import { type Tollgate } from '@tollgate/wallet'
import { useMemo, useState } from 'react'
import { buyer } from '../../texts'
import { Empty } from '../../ui/empty'
import { Page } from '../../ui/page'
import { WebhookRoutes } from '../../webhooks/webhook-routes'
import { useClient } from '../wallets/use-client'
import { WithWallet } from '../wallets/with-wallet'
import { webhookServiceOf } from './webhook-service'

const texts = buyer.webhooks
/** Nothing on these pages buys credits. */
const refusePayments = () => false

export default function WebhooksPage() {
  const client = useClient(refusePayments)
  const [isSignedIn, setSignedIn] = useState(false)
  if (client && isSignedIn)
    return <WithWallet>{({ address }) => <WebhooksOf client={client} address={address} />}</WithWallet>
  return (
    <Page title={texts.title} text={texts.text}>
      <WithWallet>
        {() => (
          <Empty title={texts.signIn.title}>
            <Text size="sm" c="dimmed">
              {texts.signIn.text}
            </Text>
            <Button onClick={() => setSignedIn(true)}>{texts.signIn.action}</Button>
          </Empty>
        )}
      </WithWallet>
    </Page>
  )
}

function WebhooksOf({ client, address }: { client: Tollgate; address: string }) {
  const service = useMemo(() => webhookServiceOf(client, address), [client, address])
  return <WebhookRoutes service={service} />
}
