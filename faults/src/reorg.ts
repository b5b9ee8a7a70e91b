import { until } from '@tollgate/e2e/testing/paying'
import { auditPayments, auditTransactions } from './audit-payments'
import { evm } from './family'
import { playRounds, prepareEnvironment, signMany, type Environment, type LogLine } from './environment'
import { type Payment } from './paying-chain'
import { type Row, type Scenario } from './scenario'

const DROPPED = 4
const AMOUNT = 10_000n
const MONEY = 1_000_000_000n
const REVERSED = 'tollgate_settlements_reversed_total'
const ENDED = 'tollgate_settlements_completed_total'
const DROPPED_LINE = 'reorg dropped transaction'
const FOR_GOOD_LINE = 'settlement reversed, final'
const LOGGED_WITHIN_SECONDS = 10
const REVERSED_WITHIN_SECONDS = 30
const SETTLED_AGAIN_WITHIN_SECONDS = 60

const HELP = `A reorg (anvil_reorg) drops the blocks of settled payments. ${DROPPED} of them must be marked reversed, broadcast again, and settled
  again, by one transfer in another block. Another payment has its authorization used by another transfer in the replacing
  block: it must stay reversed, with its reason. The metrics must count each reversal, and each final one; the log must have a
  line for every dropped transaction, and one with the reason for the final reversal. Afterwards new payments must settle, with
  contiguous nonces.`

export const reorg: Scenario = {
  name: 'reorg',
  help: HELP,
  rounds: 10,
  async run(stage) {
    const environment = await prepareEnvironment(stage, evm, { facilitators: 2 })
    const dropped = { transfers: 0, again: 0, counted: 0, lines: 0, worstSeconds: 0 }
    const stolen = { reversed: 0, transfers: 0, counted: 0, lines: 0, worstSeconds: 0 }

    const problems = await playRounds(stage, async (round) => {
      const before = await reversalCounts(environment)
      const again = await dropPayments(environment)
      const otherwise = await reuseAuthorization(environment)
      const after = await settleNew(environment)
      const now = await reversalCounts(environment)
      const [reversed, reversedFinal] = [
        now.reversed - before.reversed,
        now.reversedFinal - before.reversedFinal,
      ]
      if (reversed !== DROPPED + 1) after.push(`the metrics count ${reversed} settlements that were reversed`)
      if (reversedFinal !== 1)
        after.push(`the metrics count ${reversedFinal} settlements with a final reversal`)

      dropped.transfers += again.transfers
      dropped.again += again.settledAgain
      dropped.counted += reversed
      dropped.lines += again.lines
      dropped.worstSeconds = Math.max(dropped.worstSeconds, again.seconds)
      stolen.reversed += otherwise.stays ? 1 : 0
      stolen.transfers += otherwise.transfers
      stolen.counted += reversedFinal
      stolen.lines += otherwise.lines
      stolen.worstSeconds = Math.max(stolen.worstSeconds, otherwise.seconds)
      stage.say(
        `· round ${round}: ${again.settledAgain} of ${DROPPED} settled again after ${again.seconds.toFixed(1)} s; ` +
          `the one used otherwise ${otherwise.stays ?? 'is not reversed'}, known after ${otherwise.seconds.toFixed(1)} s`,
      )
      return [...again.problems, ...otherwise.problems, ...after]
    })

    const rows: Row[] = [
      {
        fault: 'A reorg drops settled payments',
        where: 'chain',
        times: stage.rounds,
        payments: stage.rounds * DROPPED,
        outcome:
          'Each is marked reversed, sent again and settled in another block; the log has a line for each dropped transaction.',
        counted: `${dropped.again} settled again, ${dropped.transfers} transfers; ${dropped.lines} lines in the log; ${dropped.counted} reversals in the metrics, with those of the next row`,
        worstSeconds: dropped.worstSeconds,
      },
      {
        fault:
          'A reorg drops a payment, and its payer uses the authorization for another transfer in the new block',
        where: 'chain',
        times: stage.rounds,
        payments: stage.rounds,
        outcome:
          'It is reversed-final, with its reason in the database and the log, and the metrics count it; new payments succeed.',
        counted: `${stolen.reversed} reversed-final in the database, ${stolen.counted} in the metrics, ${stolen.lines} in the log; ${stolen.transfers} transfers`,
        worstSeconds: stolen.worstSeconds,
      },
    ]
    return { problems, rows }
  },
}

async function dropPayments(environment: Environment) {
  const { chain, ledger } = environment
  const payTo = await chain.newRecipient()
  const payer = await chain.newPayer(MONEY)
  const problems = await settleFirst(
    environment,
    payTo,
    await signMany(payer, DROPPED, { payTo, amount: AMOUNT }),
  )

  const first = new Map((await chain.paidTo(payTo)).map(({ id, transaction }) => [id, transaction]))
  const blocksBefore = await blocksOf(environment, first.values())
  await drop(environment, blocksBefore)
  const began = performance.now()
  await until(
    () => ledger.paidTo(payTo),
    (rows) => rows.every(({ status }) => status === 'reversed'),
    REVERSED_WITHIN_SECONDS,
  )
  if ((await chain.paidTo(payTo)).length > 0) problems.push('the reorg dropped nothing')
  await chain.setPace('at-once')
  const rows = await until(
    () => ledger.paidTo(payTo),
    (found) => found.every(({ status }) => status === 'settled'),
    SETTLED_AGAIN_WITHIN_SECONDS,
  )
  const seconds = (performance.now() - began) / 1000

  const transfers = await chain.paidTo(payTo)
  const transferOf = new Map(transfers.map(({ id, transaction }) => [id, transaction]))
  if (transfers.length !== DROPPED) problems.push(`${transfers.length} transfers of ${DROPPED} payments`)
  const wrong = rows.filter(({ id, transaction }) => transferOf.get(id) !== transaction)
  if (wrong.length > 0) problems.push(`${wrong.length} × a settlement whose transaction is not its transfer`)
  const heights = await blocksOf(environment, transferOf.values())
  if (heights.some((height) => blocksBefore.includes(height)))
    problems.push('a payment is in the block that was dropped')
  const hashes = new Set(first.values())
  const lines = await linesOf(environment, hashes.size, DROPPED_LINE, (line) =>
    hashes.has(String(line['transaction'])),
  )
  if (lines !== hashes.size) problems.push(`${lines} log lines for ${hashes.size} dropped transactions`)
  return { problems, seconds, transfers: transfers.length, settledAgain: rows.length, lines }
}

/**
 * Settles a payment and drops it; in the replacing block its payer uses the authorization for another
 * transfer.
 */
async function reuseAuthorization(environment: Environment) {
  const { chain, ledger } = environment
  const payTo = await chain.newRecipient()
  const { payment, rival } = await chain.payAndRival(payTo, AMOUNT)
  const problems = await settleFirst(environment, payTo, [payment])
  const hashes = (await chain.paidTo(payTo)).map(({ transaction }) => transaction)
  await drop(environment, await blocksOf(environment, hashes), [rival])
  const began = performance.now()
  await chain.setPace('at-once')
  const [row] = await until(
    () => ledger.paidTo(payTo),
    ([found]) => found?.status === 'reversed' && found.errorReason !== null,
    SETTLED_AGAIN_WITHIN_SECONDS,
  )
  const seconds = (performance.now() - began) / 1000
  const transfers = (await chain.paidTo(payTo)).length
  if (transfers > 0) problems.push('a payment that cannot be settled any more moved money')
  const lines = await linesOf(
    environment,
    1,
    FOR_GOOD_LINE,
    (line) => line['payTo'] === payTo && line['reason'] === row?.errorReason,
  )
  if (lines !== 1) problems.push(`${lines} log lines for the final reversal`)
  return { problems, seconds, transfers, stays: row?.errorReason, lines }
}

/** Counts the matching log lines, and waits for `due` of them: they are written after the database. */
async function linesOf(
  { logged }: Environment,
  due: number,
  message: string,
  isMeant: (line: LogLine) => boolean,
) {
  const count = () => Promise.resolve(logged(message).filter(isMeant).length)
  return until(count, (lines) => lines >= due, LOGGED_WITHIN_SECONDS).catch(count)
}

const reversalCounts = async ({ counted }: Environment) => ({
  reversed: await counted(REVERSED),
  reversedFinal: await counted(ENDED, 'outcome="reversed"'),
})

/** @throws Error if a payment fails, because there is nothing to drop then */
async function settleFirst(
  environment: Environment,
  payTo: string,
  payments: readonly Payment[],
): Promise<string[]> {
  const ended = await environment.settleAll(payments)
  const failed = ended.find(({ end }) => !end.success)
  if (failed) throw new Error(`A payment failed before there was a reorg: ${JSON.stringify(failed.end)}`)
  return (await auditPayments({ ...environment, payTo, ended })).problems
}

/** New payments must still settle. */
async function settleNew(environment: Environment): Promise<string[]> {
  const { chain, ledger } = environment
  const payTo = await chain.newRecipient()
  const payer = await chain.newPayer(MONEY)
  const ended = await environment.settleAll(await signMany(payer, 2, { payTo, amount: AMOUNT }))
  const { problems, successes } = await auditPayments({ ...environment, payTo, ended })
  if (successes !== ended.length) problems.push(`${successes} of ${ended.length} new payments succeeded`)
  await until(ledger.open, (open) => open === 0)
  return [...problems, ...(await auditTransactions(environment))]
}

async function blocksOf({ chain }: Environment, transactions: Iterable<string>): Promise<bigint[]> {
  const mined = await Promise.all([...transactions].map((transaction) => chain.mined(transaction)))
  return mined.flatMap((one) => (one ? [one.block] : []))
}

async function drop({ chain }: Environment, blocks: readonly bigint[], instead: readonly string[] = []) {
  const lowest = blocks.reduce((low, block) => (block < low ? block : low))
  await chain.setPace('stopped')
  await chain.reorg((await chain.height()) - lowest + 1n, instead)
}
