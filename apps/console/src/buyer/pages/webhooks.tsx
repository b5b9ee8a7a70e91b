import { Button, Text } from '@mantine/core'
import { type Tollgate } from '@tollgate/wallet'
import { useMemo, useState } from 'react'
import { buyer } from '../../texts'
import { Empty } from '../../ui/empty'
import { Page } from '../../ui/page'
import { WebhookRoutes } from '../../webhooks/webhook-routes'
import { useClient } from '../wallets/use-client'
import { useIsSignedIn } from '../wallets/use-is-signed-in'
import { useWallet } from '../wallets/wallet-context'
import { WithWallet } from '../wallets/with-wallet'
import { webhookServiceOf } from './webhook-service'

const texts = buyer.webhooks
/** Nothing on these pages buys credits. */
const refusePayments = () => false

export default function WebhooksPage() {
  const client = useClient(refusePayments)
  const { connected } = useWallet()
  const [wantsSignIn, setWantsSignIn] = useState(false)
  const isSignedIn = useIsSignedIn(client, [connected?.address])
  if (client && (wantsSignIn || isSignedIn))
    return <WithWallet>{({ address }) => <WebhooksOf client={client} address={address} />}</WithWallet>
  return (
    <Page title={texts.title} text={texts.text}>
      <WithWallet>
        {() => (
          <Empty title={texts.signIn.title}>
            <Text size="sm" c="dimmed">
              {texts.signIn.text}
            </Text>
            <Button onClick={() => setWantsSignIn(true)}>{texts.signIn.action}</Button>
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
