import { Alert, Anchor, Select } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { merchant } from '../../texts'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { ReserveByHand } from './reserve-by-hand'
import { ReserveWithWallet } from './reserve-with-wallet'
import { usePaymentNetworks } from './use-payment-networks'

const texts = merchant.recipients

export function ReserveRecipient() {
  const { facilitator, networks } = usePaymentNetworks()
  const [chosen, setChosen] = useState<string | null>(null)
  const network = networks.find(({ caip2 }) => caip2 === chosen) ?? networks[0]
  return (
    <Page
      title={texts.reserve}
      text={
        <Anchor component={Link} href="/recipients" size="sm">
          {texts.toList}
        </Anchor>
      }
    >
      <Loaded query={facilitator}>
        {() =>
          network === undefined ? (
            <Alert color="gray">{texts.form.noNetwork}</Alert>
          ) : (
            <>
              <Select
                label={texts.form.network}
                data={networks.map(({ caip2, name }) => ({ value: caip2, label: name }))}
                value={network.caip2}
                onChange={setChosen}
                allowDeselect={false}
                maw={360}
              />
              <Section title={texts.form.wallet}>
                <ReserveWithWallet key={network.caip2} network={network} />
              </Section>
              <Section title={texts.form.hand}>
                <ReserveByHand key={network.caip2} network={network} />
              </Section>
            </>
          )
        }
      </Loaded>
    </Page>
  )
}
