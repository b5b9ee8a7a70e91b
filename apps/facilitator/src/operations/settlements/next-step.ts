import { type SettlementNextStep } from '@tollgate/protocol'
import { isMismatched, isOver } from '../../settlement/status'
import { type SentTransaction, type SettlementDetail } from './settlement-detail'

/** The rows of the runbook's table "Next steps". */
export type NextStep = SettlementNextStep

export const NEXT_STEPS_RUNBOOK = 'docs/operate/runbook.md#next-steps'

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
