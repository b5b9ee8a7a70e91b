import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { type Plan, type ProposedPayment } from '@tollgate/wallet'
import { type ReactNode, useCallback, useState } from 'react'
import { buyer, shared } from '../../texts'
import { Amount } from '../../ui/amount'
import { Facts } from '../../ui/facts'
import { Identifier } from '../../ui/identifier'
import { networkOf, useChainName, usePlans } from '../data'

type Question = { payment: ProposedPayment; answer: (isApproved: boolean) => void }

/** Asks before a payment that a call needs, in a dialog; closed without an answer, it is refused. */
export function useApproval(): {
  approve: (payment: ProposedPayment) => Promise<boolean>
  dialog: ReactNode
} {
  const [question, setQuestion] = useState<Question>()
  const approve = useCallback(
    (payment: ProposedPayment) =>
      new Promise<boolean>((resolve) =>
        setQuestion({
          payment,
          answer(isApproved) {
            setQuestion(undefined)
            resolve(isApproved)
          },
        }),
      ),
    [],
  )
  return { approve, dialog: question && <ApprovalDialog {...question} /> }
}

/** An address may be a token of another network, too. */
const isPaidIn = ({ ecosystem, chain_id, asset_address }: Plan, { network, asset }: ProposedPayment) =>
  network === networkOf(ecosystem, chain_id) && asset_address.toLowerCase() === asset.toLowerCase()

function ApprovalDialog({ payment, answer }: Question) {
  const { data: plans = [] } = usePlans()
  const plan = plans.find((one) => isPaidIn(one, payment))
  const chainName = useChainName()
  const texts = buyer.approval
  return (
    <Modal opened onClose={() => answer(false)} title={texts.title} centered>
      <Stack>
        <Text>{texts.text}</Text>
        <Facts
          facts={[
            [
              texts.amount,
              plan ? (
                <Amount
                  key="amount"
                  amount={String(payment.amount)}
                  decimals={plan.decimals}
                  symbol={plan.display_denom}
                />
              ) : (
                buyer.payments.smallestUnits(String(payment.amount))
              ),
            ],
            [texts.payTo, <Identifier key="payTo" value={payment.payTo} />],
            [texts.network, chainName(payment.network)],
          ]}
        />
        <Group justify="flex-end">
          <Button variant="default" onClick={() => answer(false)}>
            {shared.cancel}
          </Button>
          <Button data-autofocus onClick={() => answer(true)}>
            {texts.pay}
          </Button>
        </Group>
      </Stack>
    </Modal>
  )
}
