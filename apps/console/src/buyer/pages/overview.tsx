import { List, Stack } from '@mantine/core'
import { buyer } from '../../texts'
import { onDemand } from '../../ui/on-demand'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { useWallet } from '../wallets/wallet-context'
import { PlanList } from './plan-list'

const OfWallet = onDemand('overview-of-wallet', () => import('./overview-of-wallet'))

export function Overview() {
  const { connected } = useWallet()
  return (
    <Page title={buyer.overview.title} text={buyer.overview.text}>
      {connected ? <OfWallet address={connected.address} /> : <Welcome />}
    </Page>
  )
}

const Welcome = () => (
  <Stack gap="lg">
    <Section title={buyer.welcome.title}>
      <List type="ordered" spacing="xs">
        {buyer.welcome.steps.map((step) => (
          <List.Item key={step}>{step}</List.Item>
        ))}
      </List>
    </Section>
    <PlanList />
  </Stack>
)
