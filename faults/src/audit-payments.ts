import { type SettleResult } from '@tollgate/protocol'
import { type Payment, type PayingChain, type Transfer } from './paying-chain'
import { type SettlementQueries } from './settlement-queries'

/** A payment and the final response to its merchant; undefined after a timeout. */
export type Ended = { payment: Payment; end: SettleResult | undefined }

const EXAMPLES = 3

/**
 * Compares the responses to merchants with the chain and the facilitator's database: a success has exactly one transfer, in
 * the reported transaction; a failure has none.
 */
export async function auditPayments(parts: {
  payTo: string
  ended: readonly Ended[]
  chain: PayingChain
  ledger: SettlementQueries
}) {
  const { payTo, ended, chain, ledger } = parts
  const transfers = await chain.paidTo(payTo)
  const made = new Map<string, Transfer[]>()
  for (const transfer of transfers) made.set(transfer.id, [...(made.get(transfer.id) ?? []), transfer])
  const written = new Map((await ledger.paidTo(payTo)).map((row) => [row.id, row]))
  const transfersOf = ({ payment }: Ended) => made.get(payment.id) ?? []
  const isSettled = ({ payment }: Ended) => written.get(payment.id)?.status === 'settled'

  const problems: string[] = []
  const mustNotBe = (what: string, found: readonly Ended[]) => {
    const examples = found
      .slice(0, EXAMPLES)
      .map(({ payment, end }) => `${payment.id} (${end?.errorReason ?? ''} ${end?.transaction ?? ''})`)
    if (found.length > 0) problems.push(`${found.length} × ${what}: ${examples.join(', ')}`)
  }
  const successes = ended.filter(({ end }) => end?.success === true)
  const failures = ended.filter(({ end }) => end?.success === false)
  const of = (from: readonly Ended[], isWrong: (one: Ended) => boolean) => from.filter(isWrong)
  mustNotBe(
    'a payment without a final response',
    of(ended, ({ end }) => end === undefined),
  )
  mustNotBe(
    'a payment with more than one transfer',
    of(ended, (one) => transfersOf(one).length > 1),
  )
  mustNotBe(
    'a success that names another transaction than its transfer',
    of(successes, (one) => transfersOf(one)[0]?.transaction !== one.end?.transaction),
  )
  mustNotBe(
    'a transfer of another amount',
    of(ended, (one) => transfersOf(one).some(({ value }) => value !== amountOf(one))),
  )
  mustNotBe(
    'a success that is not settled in the database',
    of(successes, (one) => !isSettled(one)),
  )
  mustNotBe(
    'a failure whose money moved',
    of(failures, (one) => transfersOf(one).length > 0),
  )
  mustNotBe('a failure that is settled in the database', of(failures, isSettled))
  const known = new Set(ended.map(({ payment }) => payment.id))
  const strange = transfers.filter(({ id }) => !known.has(id))
  if (strange.length > 0) problems.push(`${strange.length} × a transfer of no payment`)

  return {
    problems,
    successes: successes.length,
    failures: failures.length,
    transfers: transfers.length,
    transactions: new Set(transfers.map(({ transaction }) => transaction)),
  }
}

/**
 * Problems with the signers' nonces, transactions and fees; valid only if no transaction is in flight. A transaction without
 * a nonce is the payer's own: superseded if it was refused, and mined with the same hash if its payment was requested again.
 */
export async function auditTransactions({
  chain,
  ledger,
}: {
  chain: PayingChain
  ledger: SettlementQueries
}) {
  const problems = await ledger.nonceProblems(chain)
  const transactions = await ledger.transactions()
  const isMined = (status: string) => status === 'mined' || status === 'final'
  const minedHashes = new Set(transactions.filter(({ status }) => isMined(status)).map(({ hash }) => hash))
  for (const { signer, nonce, hash, status } of transactions) {
    const mined = await chain.mined(hash)
    const isRight = isMined(status) || (nonce === null && minedHashes.has(hash))
    const isTheirs = nonce === null || mined?.signer.toLowerCase() === signer.toLowerCase()
    if (!isRight || !mined || !isTheirs)
      problems.push(
        `nonce ${nonce ?? '(its payer’s)'} of ${signer}: ${hash} is ${status}, and the chain has it ${mined ? `of ${mined.signer}` : 'not'}`,
      )
  }
  problems.push(...(await chain.feeProblems(await ledger.fees())))
  return problems
}

const amountOf = ({ payment }: Ended) => BigInt(payment.request.paymentRequirements.maxAmountRequired)
