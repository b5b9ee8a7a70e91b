import { IconCash } from '@tabler/icons-react'
import { Frame } from '../shell/frame'
import { Page } from '../ui/page'

export const View = () => (
  <Frame title="Payments" items={[{ path: '/', label: 'Overview', icon: IconCash }]}>
    <Page title="Overview">…</Page>
  </Frame>
)
