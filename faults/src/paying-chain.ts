import { type SettleRequest } from '@tollgate/protocol'

/** `id` is unique, also on the chain. */
export type Payment = {
  id: string
  request: SettleRequest
  /** Whether a transaction of the facilitator must be mined before it. */
  isSponsored: boolean
}

export type Transfer = { id: string; transaction: string; value: bigint }

/** Recipient, and amount of each payment (smallest units). */
export type Terms = { payTo: string; amount: bigint }

export type MinedTransaction = { signer: string; block: bigint; gas: bigint }

/** Sums of the fees (native smallest unit), by the table that records them. */
export type Fees = { transactions: bigint; charges: bigint; settlements: bigint }

/** Pays on a chain and counts payments. Addresses and amounts have the format of the chain family. */
export type PayingChain = {
  network: string
  /** The signers of a world's facilitators. */
  signers: readonly string[]
  /** Independent payments of funded payers, which can all be settled in parallel. */
  newPayments: (count: number, terms: Terms) => Promise<Payment[]>
  newRecipient: () => Promise<string>
  paidTo: (recipient: string) => Promise<Transfer[]>
  transactionsOf: (address: string) => Promise<bigint>
  /** Undefined if no block contains the transaction. */
  mined: (transaction: string) => Promise<MinedTransaction | undefined>
  /** Differences between the fees that the signers paid on the chain and those in the database. */
  feeProblems: (written: Fees) => Promise<string[]>
  mine: () => Promise<unknown>
  /** When blocks are mined: with every transaction and at intervals, at intervals only, or not at all. */
  setPace: (pace: 'at-once' | 'by-interval' | 'stopped') => Promise<void>
  close: () => void
}
