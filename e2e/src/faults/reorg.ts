import { until } from '../testing/paying'
import { auditPayments, auditTransactions } from './audit-payments'
import { evm } from './family'
import { playRounds, prepareGround, signMany, type Ground, type LogLine } from './ground'
import { type Payment } from './paying-chain'
import { type Row, type Scenario } from './scenario'

const DROPPED = 4
const AMOUNT = 10_000n
const MONEY = 1_000_000_000n
const REVERSED = 'tollgate_settlements_reversed_total'
const ENDED = 'tollgate_settlements_ended_total'
const DROPPED_LINE = 'a reorg dropped a transaction; what it settled is reversed'
const FOR_GOOD_LINE = 'settlement reversed for good'
const LOGGED_WITHIN_SECONDS = 10
const REVERSED_WITHIN_SECONDS = 30
const SETTLED_AGAIN_WITHIN_SECONDS = 60

const HELP = `Payments that have succeeded are dropped by a reorg (anvil_reorg) with the blocks they were in. Of ${DROPPED} of them nothing
  else happens: each must be marked reversed, sent again, and settled again, by one transfer in another block. One more has its
  authorization used otherwise in the block that comes instead: it must stay reversed, with its reason. The metrics must count
  each reversal, and each that is for good; the log must have a line for every transaction that was dropped, and one with
  the reason for what is reversed for good. Afterwards new payments must settle, with contiguous nonces.`

export const reorg: Scenario = {
  name: 'reorg',
  help: HELP,
  rounds: 10,
  async run(stage) {
    const ground = await prepareGround(stage, evm, { facilitators: 2 })
    const dropped = { transfers: 0, again: 0, counted: 0, lines: 0, worstSeconds: 0 }
    const stolen = { reversed: 0, transfers: 0, counted: 0, lines: 0, worstSeconds: 0 }

    const problems = await playRounds(stage, async (round) => {
      const before = await tellsOf(ground)
      const again = await dropPayments(ground)
      const otherwise = await usedOtherwise(ground)
      const after = await settleNew(ground)
      const now = await tellsOf(ground)
      const [reversed, forGood] = [now.reversed - before.reversed, now.forGood - before.forGood]
      if (reversed !== DROPPED + 1) after.push(`the metrics count ${reversed} settlements that were reversed`)
      if (forGood !== 1) after.push(`the metrics count ${forGood} settlements that were reversed for good`)

      dropped.transfers += again.transfers
      dropped.again += again.settledAgain
      dropped.counted += reversed
      dropped.lines += again.lines
      dropped.worstSeconds = Math.max(dropped.worstSeconds, again.seconds)
      stolen.reversed += otherwise.stays ? 1 : 0
      stolen.transfers += otherwise.transfers
      stolen.counted += forGood
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
        fault: 'A reorg drops payments that had succeeded',
        where: 'chain',
        times: stage.rounds,
        payments: stage.rounds * DROPPED,
        outcome:
          'Each is marked reversed, sent again, and settled again in another block; the log has a line for each transaction that was dropped.',
        counted: `${dropped.again} settled again, ${dropped.transfers} transfers; ${dropped.lines} lines in the log; ${dropped.counted} reversals in the metrics, with those of the next row`,
        worstSeconds: dropped.worstSeconds,
      },
      {
        fault: 'A reorg drops a payment, and its payer uses the authorization otherwise in the new block',
        where: 'chain',
        times: stage.rounds,
        payments: stage.rounds,
        outcome:
          'It stays reversed, with its reason in the books and in a line of the log, and the metrics count it; new payments succeed.',
        counted: `${stolen.reversed} reversed for good in the books, ${stolen.counted} in the metrics, ${stolen.lines} in the log; ${stolen.transfers} transfers`,
        worstSeconds: stolen.worstSeconds,
      },
    ]
    return { problems, rows }
  },
}

/** Settles payments, drops them from the chain, and waits until they are settled once more. */
async function dropPayments(ground: Ground) {
  const { chain, books } = ground
  const payTo = await chain.newRecipient()
  const payer = await chain.newPayer(MONEY)
  const problems = await settleFirst(ground, payTo, await signMany(payer, DROPPED, { payTo, amount: AMOUNT }))

  const first = new Map((await chain.paidTo(payTo)).map(({ id, transaction }) => [id, transaction]))
  const blocksBefore = await blocksOf(ground, first.values())
  await drop(ground, blocksBefore)
  const began = performance.now()
  await until(
    () => books.paidTo(payTo),
    (rows) => rows.every(({ status }) => status === 'reversed'),
    REVERSED_WITHIN_SECONDS,
  )
  if ((await chain.paidTo(payTo)).length > 0) problems.push('the reorg dropped nothing')
  await chain.setPace('at-once')
  const rows = await until(
    () => books.paidTo(payTo),
    (found) => found.every(({ status }) => status === 'settled'),
    SETTLED_AGAIN_WITHIN_SECONDS,
  )
  const seconds = (performance.now() - began) / 1000

  const transfers = await chain.paidTo(payTo)
  const transferOf = new Map(transfers.map(({ id, transaction }) => [id, transaction]))
  if (transfers.length !== DROPPED) problems.push(`${transfers.length} transfers of ${DROPPED} payments`)
  const wrong = rows.filter(({ id, transaction }) => transferOf.get(id) !== transaction)
  if (wrong.length > 0) problems.push(`${wrong.length} × a settlement that is not the transfer in its books`)
  const heights = await blocksOf(ground, transferOf.values())
  if (heights.some((height) => blocksBefore.includes(height)))
    problems.push('a payment is in the block that was dropped')
  const hashes = new Set(first.values())
  const lines = await linesOf(ground, hashes.size, DROPPED_LINE, (line) =>
    hashes.has(String(line['transaction'])),
  )
  if (lines !== hashes.size)
    problems.push(`${lines} lines of the log tell of ${hashes.size} transactions that were dropped`)
  return { problems, seconds, transfers: transfers.length, settledAgain: rows.length, lines }
}

/** Settles a payment, drops it, and has its payer use the authorization for something else in the block that comes instead. */
async function usedOtherwise(ground: Ground) {
  const { chain, books } = ground
  const payTo = await chain.newRecipient()
  const { payment, rival } = await chain.payAndRival(payTo, AMOUNT)
  const problems = await settleFirst(ground, payTo, [payment])
  const hashes = (await chain.paidTo(payTo)).map(({ transaction }) => transaction)
  await drop(ground, await blocksOf(ground, hashes), [rival])
  const began = performance.now()
  await chain.setPace('at-once')
  const [row] = await until(
    () => books.paidTo(payTo),
    ([found]) => found?.status === 'reversed' && found.errorReason !== null,
    SETTLED_AGAIN_WITHIN_SECONDS,
  )
  const seconds = (performance.now() - began) / 1000
  const transfers = (await chain.paidTo(payTo)).length
  if (transfers > 0) problems.push('a payment that cannot be settled any more moved money')
  const lines = await linesOf(
    ground,
    1,
    FOR_GOOD_LINE,
    (line) => line['payTo'] === payTo && line['reason'] === row?.errorReason,
  )
  if (lines !== 1) problems.push(`${lines} lines of the log tell that it is reversed for good`)
  return { problems, seconds, transfers, stays: row?.errorReason, lines }
}

/** How many lines of the log with this message are meant, once there are as many as are due: they are written after the books. */
async function linesOf(
  { logged }: Ground,
  due: number,
  message: string,
  isMeant: (line: LogLine) => boolean,
) {
  const count = () => Promise.resolve(logged(message).filter(isMeant).length)
  return until(count, (lines) => lines >= due, LOGGED_WITHIN_SECONDS).catch(count)
}

/** What the metrics of the facilitators have counted so far. */
const tellsOf = async ({ counted }: Ground) => ({
  reversed: await counted(REVERSED),
  forGood: await counted(ENDED, 'end="reversed"'),
})

/** @throws Error where one does not succeed: then there is nothing to drop */
async function settleFirst(ground: Ground, payTo: string, payments: readonly Payment[]): Promise<string[]> {
  const ended = await ground.settleAll(payments)
  const failed = ended.find(({ end }) => !end.success)
  if (failed) throw new Error(`A payment failed before there was a reorg: ${JSON.stringify(failed.end)}`)
  return (await auditPayments({ ...ground, payTo, ended })).problems
}

/** The facilitators must go on as if nothing had happened. */
async function settleNew(ground: Ground): Promise<string[]> {
  const { chain, books } = ground
  const payTo = await chain.newRecipient()
  const payer = await chain.newPayer(MONEY)
  const ended = await ground.settleAll(await signMany(payer, 2, { payTo, amount: AMOUNT }))
  const { problems, successes } = await auditPayments({ ...ground, payTo, ended })
  if (successes !== ended.length) problems.push(`${successes} of ${ended.length} new payments succeeded`)
  await until(books.open, (open) => open === 0)
  return [...problems, ...(await auditTransactions(ground))]
}

/** The heights of the blocks that these transactions are in. */
async function blocksOf({ chain }: Ground, transactions: Iterable<string>): Promise<bigint[]> {
  const mined = await Promise.all([...transactions].map((transaction) => chain.mined(transaction)))
  return mined.flatMap((one) => (one ? [one.block] : []))
}

/** Replaces the chain from the lowest of these blocks on, and leaves it without new ones. */
async function drop({ chain }: Ground, blocks: readonly bigint[], instead: readonly string[] = []) {
  const lowest = blocks.reduce((low, block) => (block < low ? block : low))
  await chain.setPace('stopped')
  await chain.reorg((await chain.height()) - lowest + 1n, instead)
}
