import { Anchor, Button } from '@mantine/core'
import {
  IconAlertCircle,
  IconCoin,
  IconCoins,
  IconGauge,
  IconNetwork,
  IconTicket,
  IconUsers,
  IconWallet,
} from '@tabler/icons-react'
import { Link, Route, Switch } from 'wouter'
import { Frame, type NavItem } from '../shell/frame'
import { NotFound } from '../shell/not-found'
import { operator } from '../texts'
import { AdminProvider, useAdmin } from './admin'
import { Assets } from './pages/assets'
import { Fees } from './pages/fees'
import { Invitations } from './pages/invitations'
import { Networks } from './pages/networks'
import { Overview } from './pages/overview'
import { Settlement } from './pages/settlement'
import { Settlements } from './pages/settlements'
import { SignIn } from './pages/sign-in'
import { Signers } from './pages/signers'
import { Users } from './pages/users'

const items: NavItem[] = [
  { path: '/operator', label: operator.overview.title, icon: IconGauge, isExact: true },
  { path: '/operator/settlements', label: operator.settlements.title, icon: IconAlertCircle },
  { path: '/operator/signers', label: operator.signers.title, icon: IconWallet },
  { path: '/operator/networks', label: operator.networks.title, icon: IconNetwork },
  { path: '/operator/fees', label: operator.fees.title, icon: IconCoins },
  { path: '/operator/assets', label: operator.assets.title, icon: IconCoin },
  { path: '/operator/users', label: operator.users.title, icon: IconUsers },
  { path: '/operator/invitations', label: operator.invitations.title, icon: IconTicket },
]

/** The facilitator's pages for who runs it, with the admin token. */
export default function OperatorView() {
  return (
    <AdminProvider>
      <Pages />
    </AdminProvider>
  )
}

function Pages() {
  const { isSignedIn, signOut } = useAdmin()
  const account = isSignedIn ? (
    <Button variant="default" onClick={signOut}>
      {operator.signOut}
    </Button>
  ) : (
    <Anchor component={Link} href="/">
      {operator.toMerchant}
    </Anchor>
  )
  return (
    <Frame title={operator.title} items={isSignedIn ? items : []} account={account}>
      {isSignedIn ? (
        <Switch>
          <Route path="/operator" component={Overview} />
          <Route path="/operator/settlements" component={Settlements} />
          <Route path="/operator/settlements/:id">{({ id }) => <Settlement id={id} />}</Route>
          <Route path="/operator/signers" component={Signers} />
          <Route path="/operator/networks" component={Networks} />
          <Route path="/operator/fees" component={Fees} />
          <Route path="/operator/assets" component={Assets} />
          <Route path="/operator/users" component={Users} />
          <Route path="/operator/invitations" component={Invitations} />
          <Route component={NotFound} />
        </Switch>
      ) : (
        <SignIn />
      )}
    </Frame>
  )
}
