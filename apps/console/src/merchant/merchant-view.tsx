import {
  IconAddressBook,
  IconCash,
  IconCode,
  IconHome,
  IconKey,
  IconListSearch,
  IconUser,
  IconWebhook,
} from '@tabler/icons-react'
import { Frame, type NavItem } from '../shell/frame'
import { merchant } from '../texts'
import { Loaded } from '../ui/loaded'
import { useCode } from '../ui/use-code'
import { AccountMenu } from './account/account-menu'
import { SignInAgain } from './sign-in/sign-in-again'
import { SignedOut } from './sign-in/signed-out'
import { useSessionState } from './use-session-state'

const { pages } = merchant

const items: readonly NavItem[] = [
  { path: '/', label: pages.overview, icon: IconHome },
  { path: '/settlements', label: pages.settlements, icon: IconCash },
  { path: '/keys', label: pages.keys, icon: IconKey },
  { path: '/recipients', label: pages.recipients, icon: IconAddressBook },
  { path: '/snippets', label: pages.snippets, icon: IconCode },
  { path: '/webhooks', label: pages.webhooks, icon: IconWebhook },
  { path: '/resources', label: pages.resources, icon: IconListSearch },
  { path: '/account', label: pages.account, icon: IconUser },
]

export function MerchantView() {
  const state = useSessionState()
  if (state === 'signed-out') return <SignedOut />
  return (
    <Frame title={merchant.title} items={items} account={<AccountMenu />}>
      <Pages />
      {state === 'locked' && <SignInAgain />}
    </Frame>
  )
}

/** Not part of the code that the sign-in waits for. */
const Pages = () => (
  <Loaded query={useCode('pages', () => import('./routes'))}>{({ Routes }) => <Routes />}</Loaded>
)
