/** The states of a settlement that somebody still has to end. */
export const openStates = ['claimed', 'signed', 'reversed'] as const
export type OpenState = (typeof openStates)[number]

/** As the index of open settlements has it. A reversed one is open until a reason says that it stays reversed. */
export const isOpen = (settlement: string) =>
  `(${settlement}.status IN ('claimed', 'signed') OR (${settlement}.status = 'reversed' AND ${settlement}.error_reason IS NULL))`
