/** `reversed` is open only without an error reason. */
export const openStatuses = ['claimed', 'signed', 'reversed'] as const
export type OpenStatus = (typeof openStatuses)[number]
export type SettlementStatus = OpenStatus | 'settled' | 'failed'

export const isOver = ({
  status,
  errorReason,
}: {
  status: SettlementStatus
  errorReason: string | null
}): boolean => status === 'settled' || status === 'failed' || (status === 'reversed' && errorReason !== null)

/** Another amount than signed was moved: such a settlement is never reclaimed. */
export const isMismatched = ({ errorReason }: { errorReason: string | null }): boolean =>
  errorReason === 'transfer_event_mismatch'

/** Negates {@link isOver} for a row of `settlements`; worded as the index of open settlements, so that Postgres uses it. */
export const isOpenSql = (row: string) =>
  `(${row}.status IN ('claimed', 'signed') OR (${row}.status = 'reversed' AND ${row}.error_reason IS NULL))`

/** Waits for its transaction to be mined, or mined again. */
export const isInFlightSql = (row: string) =>
  `(${row}.status IN ('signed', 'reversed') AND ${row}.error_reason IS NULL)`

/** Success was reported, then a reorg dropped the settlement, and it can no longer be settled. */
export const isReversedFinalSql = (row: string) =>
  `(${row}.status = 'reversed' AND ${row}.error_reason IS NOT NULL)`
