import { type SettlementNextStep } from '@tollgate/protocol'
import { isMismatched, isOver } from '../../settlement/status'
import { type SentTransaction, type SettlementDetail } from './settlement-detail'

/** The rows of the runbook's table "Next steps". */
export type NextStep = SettlementNextStep

export const NEXT_STEPS_RUNBOOK = 'docs/operate/runbook.md#next-steps'

/** Operators read it before the code that the runbook explains. */
export const nextStepTexts: Record<NextStep, string> = {
  'wait-for-signature': 'wait until it is signed; nothing was sent',
  'wait-for-another-attempt': 'wait: it is sent once more',
  'resend-after-reorg': 'wait: a reorg dropped it, and it is sent again',
  'wait-for-block': 'wait for a block',
  'wait-for-payer-transaction': 'wait: the transaction is the payer’s, and is resent as it is',
  'wait-for-node': 'check the node and the signer’s balance: no node has accepted it',
  'wait-for-confirmations': 'wait for confirmations',
  'resolve-superseded-transaction': 'wait: another transaction used the nonce, and the payment is checked',
  'wait-after-reorg': 'wait: a reorg dropped it, and the same transaction is sent again',
  'none-settled': 'nothing to do, it is paid',
  'none-failed': 'nothing to do, it failed and the payer was not charged',
  'notify-client-of-reversal': 'tell the client that the payment was reversed',
  'notify-client-of-mismatch': 'tell the client that another amount was moved',
}

/** What the next step depends on. */
export type Progress = Pick<SettlementDetail, 'state' | 'attempts' | 'successReportedAt' | 'errorReason'> & {
  transaction: Pick<SentTransaction, 'state' | 'nonce' | 'acceptedAt'> | null
}

export function nextStepOf(settlement: Progress): NextStep {
  const { state, attempts, successReportedAt } = settlement
  switch (state) {
    case 'claimed':
      if (successReportedAt) return 'resend-after-reorg'
      return attempts === 0 ? 'wait-for-signature' : 'wait-for-another-attempt'
    case 'signed':
      return nextStepOfTransaction(settlement)
    case 'reversed':
      return isOver({ status: state, errorReason: settlement.errorReason })
        ? 'notify-client-of-reversal'
        : 'wait-after-reorg'
    case 'settled':
      return 'none-settled'
    case 'failed':
      return isMismatched(settlement) ? 'notify-client-of-mismatch' : 'none-failed'
  }
}

function nextStepOfTransaction({ transaction }: Progress): NextStep {
  switch (transaction?.state) {
    case 'mined':
    case 'final':
      return 'wait-for-confirmations'
    case 'superseded':
      return 'resolve-superseded-transaction'
    case undefined:
    case 'signed':
      if (transaction?.nonce === null) return 'wait-for-payer-transaction'
      return transaction?.acceptedAt ? 'wait-for-block' : 'wait-for-node'
  }
}
