import { IconWallet } from '@tabler/icons-react'
import { Frame } from '../shell/frame'
import { Page } from '../ui/page'

export const View = () => (
  <Frame title="Credits" items={[{ path: '/', label: 'Overview', icon: IconWallet }]}>
    <Page title="Overview">…</Page>
  </Frame>
)
