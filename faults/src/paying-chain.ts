import { type SettleRequest } from '@tollgate/protocol'

/** A signed payment. `id` is unique, and the same on the chain. */
export type Payment = {
  id: string
  request: SettleRequest
  /** Whether a transaction of the facilitators' has to be mined before it. */
  isSponsored: boolean
}

/** A payment as the chain has it: the transaction that moved the money, and how much. */
export type Transfer = { id: string; transaction: string; value: bigint }

/** Who is paid, and how much each time (smallest units). */
export type Terms = { payTo: string; amount: bigint }

/** A transaction as the chain has it. */
export type MinedTransaction = { signer: string; block: bigint; gas: bigint }

/** Sums of the fees (native smallest unit), by the table that records them. */
export type Fees = { transactions: bigint; charges: bigint; settlements: bigint }

/** Pays on a chain and counts payments. Addresses and amounts have the format of the chain family. */
export type PayingChain = {
  /** Its CAIP-2 name. */
  network: string
  /** From whose keys the facilitators of a world settle. */
  signers: readonly string[]
  /** So many payments that can all be settled at the same time, of payers with the money for them. */
  newPayments: (count: number, terms: Terms) => Promise<Payment[]>
  /** An address without payments. */
  newRecipient: () => Promise<string>
  /** Every payment that reached the address, from the first block on: one for each time that money moved. */
  paidTo: (recipient: string) => Promise<Transfer[]>
  /** How many transactions the chain has of an address. */
  transactionsOf: (address: string) => Promise<bigint>
  /** Undefined where the chain has the transaction in no block. */
  mined: (transaction: string) => Promise<MinedTransaction | undefined>
  /** Differences between the fees that the signers paid on the chain and those in the database. */
  feeProblems: (written: Fees) => Promise<string[]>
  /** Makes one block. */
  mine: () => Promise<unknown>
  /** How blocks come from now on: with every transaction and in intervals besides, in intervals only, or not at all. */
  setPace: (pace: 'at-once' | 'by-interval' | 'stopped') => Promise<void>
  close: () => void
}
