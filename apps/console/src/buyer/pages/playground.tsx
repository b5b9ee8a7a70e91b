import { buyer } from '../../texts'
import { Page } from '../../ui/page'
import { Playground } from '../playground/playground'
import { WithWallet } from '../wallets/with-wallet'

export default function PlaygroundPage() {
  return (
    <Page title={buyer.playground.title} text={buyer.playground.text}>
      <WithWallet>{({ address }) => <Playground address={address} />}</WithWallet>
    </Page>
  )
}
