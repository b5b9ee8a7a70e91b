import { buyer } from '../../texts'
import { Page } from '../../ui/page'
import { AccessKeys } from '../keys/access-keys'
import { WithWallet } from '../wallets/with-wallet'

export default function KeysPage() {
  return (
    <Page title={buyer.keys.title} text={buyer.keys.text}>
      <WithWallet>{(wallet) => <AccessKeys key={wallet.address} wallet={wallet} />}</WithWallet>
    </Page>
  )
}
