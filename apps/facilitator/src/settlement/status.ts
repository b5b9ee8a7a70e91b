/** The states in which a settlement may be open, so that somebody still has to end it. */
export const openStatuses = ['claimed', 'signed', 'reversed'] as const
export type OpenStatus = (typeof openStatuses)[number]
export type SettlementStatus = OpenStatus | 'settled' | 'failed'

/** Whether a settlement has come to its end. A reversed one is open until a reason says that it stays reversed. */
export const isOver = ({
  status,
  errorReason,
}: {
  status: SettlementStatus
  errorReason: string | null
}): boolean => status === 'settled' || status === 'failed' || (status === 'reversed' && errorReason !== null)

/** Money was moved, and not as it was signed: such a settlement is never claimed again. */
export const isMismatched = ({ errorReason }: { errorReason: string | null }): boolean =>
  errorReason === 'transfer_event_mismatch'

/** The contrary, of a row of `settlements`; in the words of the index of open settlements, so that it is used. */
export const isOpenSql = (row: string) =>
  `(${row}.status IN ('claimed', 'signed') OR (${row}.status = 'reversed' AND ${row}.error_reason IS NULL))`

/** It waits for its transaction to be mined, or to be mined again. */
export const isInFlightSql = (row: string) =>
  `(${row}.status IN ('signed', 'reversed') AND ${row}.error_reason IS NULL)`

/** Success was reported, a reorg dropped it, and it cannot be settled any more. */
export const isReversedFinalSql = (row: string) =>
  `(${row}.status = 'reversed' AND ${row}.error_reason IS NOT NULL)`
