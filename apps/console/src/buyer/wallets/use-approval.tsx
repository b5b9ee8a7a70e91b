import { Button, Group, Modal, Stack, Text } from '@mantine/core'
import { type ProposedPayment } from '@tollgate/wallet'
import { type ReactNode, useCallback, useState } from 'react'
import { buyer, shared } from '../../texts'
import { Amount } from '../../ui/amount'
import { Facts } from '../../ui/facts'
import { Identifier } from '../../ui/identifier'
import { usePlans } from '../data'

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

function ApprovalDialog({ payment, answer }: Question) {
  const { data: plans = [] } = usePlans()
  const plan = plans.find(({ asset_address }) => asset_address.toLowerCase() === payment.asset.toLowerCase())
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
                String(payment.amount)
              ),
            ],
            [texts.payTo, <Identifier key="payTo" value={payment.payTo} />],
            [texts.network, payment.network],
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
