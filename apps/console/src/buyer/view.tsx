import {
  IconCoins,
  IconHistory,
  IconKey,
  IconLayoutDashboard,
  IconPlayerPlay,
  IconReceipt,
  IconWebhook,
} from '@tabler/icons-react'
import { Route, Switch } from 'wouter'
import { Frame, type NavItem } from '../shell/frame'
import { NotFound } from '../shell/not-found'
import { buyer } from '../texts'
import { onDemand } from '../ui/on-demand'
import { Overview } from './pages/overview'
import { PurchaseProvider } from './purchase/purchase-context'
import { ConnectButton } from './wallets/connect-button'
import { WalletProvider } from './wallets/wallet-context'

const Plans = onDemand('plans', () => import('./pages/plans'))
const Calls = onDemand('calls', () => import('./pages/calls'))
const Payments = onDemand('payments', () => import('./pages/payments'))
const Payment = onDemand('payment', () => import('./pages/payment'))
const Keys = onDemand('keys', () => import('./pages/keys'))
const Webhooks = onDemand('webhooks', () => import('./pages/webhooks'))
const Playground = onDemand('playground', () => import('./pages/playground'))

const items: NavItem[] = [
  { path: '/', label: buyer.overview.title, icon: IconLayoutDashboard },
  { path: '/plans', label: buyer.plans.title, icon: IconCoins },
  { path: '/playground', label: buyer.playground.title, icon: IconPlayerPlay },
  { path: '/calls', label: buyer.calls.title, icon: IconHistory },
  { path: '/payments', label: buyer.payments.title, icon: IconReceipt },
  { path: '/keys', label: buyer.keys.title, icon: IconKey },
  { path: '/webhooks', label: buyer.webhooks.title, icon: IconWebhook },
]

/** The gateway's pages, for the owner of a wallet. */
export const View = () => (
  <WalletProvider>
    <PurchaseProvider>
      <Frame title={buyer.title} items={items} account={<ConnectButton />}>
        <Switch>
          <Route path="/" component={Overview} />
          <Route path="/plans" component={Plans} />
          <Route path="/playground" component={Playground} />
          <Route path="/calls" component={Calls} />
          <Route path="/payments" component={Payments} />
          <Route path="/payments/:id">{({ id }) => <Payment id={id} />}</Route>
          <Route path="/keys" component={Keys} />
          <Route path="/webhooks/*?" component={Webhooks} />
          <Route component={NotFound} />
        </Switch>
      </Frame>
    </PurchaseProvider>
  </WalletProvider>
)
