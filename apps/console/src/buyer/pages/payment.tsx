import { Alert, Stack } from '@mantine/core'
import { buyer } from '../../texts'
import { addressUrl, transactionUrl } from '../../ui/explorer'
import { Facts } from '../../ui/facts'
import { readableNumber } from '../../ui/format'
import { Identifier } from '../../ui/identifier'
import { Loaded } from '../../ui/loaded'
import { Page } from '../../ui/page'
import { Section } from '../../ui/section'
import { Time } from '../../ui/time'
import { usePaymentProgress, usePlans } from '../data'
import { type PaymentProgress, stepsOf } from '../purchase/purchase-steps'
import { StepList } from '../purchase/step-list'
import { WithWallet } from '../wallets/with-wallet'
import { PaymentAmount, PaymentStatus } from './payment-columns'

export default function Payment({ id }: { id: string }) {
  return (
    <Page title={buyer.payment.title}>
      <WithWallet>{({ address }) => <PaymentOf address={address} id={id} />}</WithWallet>
    </Page>
  )
}

const isBad = ({ step, reversed_at }: PaymentProgress) => step === 'failed' || reversed_at != null

function PaymentOf({ address, id }: { address: string; id: string }) {
  const payment = usePaymentProgress(address, id)
  return (
    <Loaded query={payment}>
      {(found) => (
        <Stack gap="lg">
          {found.next !== null && (
            <Alert color={isBad(found) ? 'red' : 'yellow'} title={buyer.payment.next}>
              {found.next}
            </Alert>
          )}
          <Section title={buyer.payment.steps}>
            <Steps payment={found} />
          </Section>
          <Section title={buyer.payment.facts}>
            <PaymentFacts payment={found} />
          </Section>
        </Stack>
      )}
    </Loaded>
  )
}

function Steps({ payment }: { payment: PaymentProgress }) {
  const { step } = payment
  const outcome = step === 'credited' ? 'bought' : step === 'failed' ? 'failed' : 'open'
  const texts = buyer.purchase
  const steps = stepsOf({ stage: 'sent', payment, outcome })
    // A payment that is recorded was signed.
    .filter(({ step: name }) => name !== 'sign-in')
    .map(({ step: name, state }) => ({ ...texts.steps[name], state }))
  return <StepList steps={steps} />
}

function PaymentFacts({ payment }: { payment: PaymentProgress }) {
  const { data: plans } = usePlans()
  const { chain_id: chain, transaction } = payment
  const texts = buyer.payments
  return (
    <Facts
      facts={[
        [texts.status, <PaymentStatus key="status" payment={payment} />],
        [texts.amount, <PaymentAmount key="amount" payment={payment} plans={plans} />],
        [texts.credits, readableNumber(payment.credits)],
        [texts.network, payment.network],
        [
          texts.payer,
          <Identifier key="payer" value={payment.payer} href={addressUrl(chain, payment.payer)} />,
        ],
        [
          texts.payTo,
          <Identifier key="payTo" value={payment.pay_to} href={addressUrl(chain, payment.pay_to)} />,
        ],
        [
          texts.transaction,
          transaction !== null && (
            <Identifier key="transaction" value={transaction} href={transactionUrl(chain, transaction)} />
          ),
        ],
        [texts.block, payment.block_number !== null && readableNumber(payment.block_number)],
        [texts.created, <Time key="created" at={payment.created_at} />],
        [texts.settled, payment.settled_at !== null && <Time key="settled" at={payment.settled_at} />],
        [texts.reversed, payment.reversed_at != null && <Time key="reversed" at={payment.reversed_at} />],
        [texts.id, <Identifier key="id" value={payment.id} />],
      ]}
    />
  )
}
