import '@mantine/notifications/styles.css'
import { Notifications } from '@mantine/notifications'
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
import { AccountMenu } from './account/account-menu'
import { SignInAgain } from './sign-in/sign-in-again'
import { Routes } from './routes'
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

/** The pages of a session. */
export default function SignedIn() {
  const state = useSessionState()
  return (
    <Frame title={merchant.title} items={items} account={<AccountMenu />}>
      <Routes />
      {state === 'locked' && <SignInAgain />}
      <Notifications position="bottom-right" limit={3} />
    </Frame>
  )
}
