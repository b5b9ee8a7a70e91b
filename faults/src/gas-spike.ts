import { setTimeout as delay } from 'node:timers/promises'
import { formatUnits, Transaction } from 'ethers'
import { until } from '@tollgate/e2e/testing/paying'
import { auditPayments, auditTransactions } from './audit-payments'
import { evm } from './family'
import { playRounds, prepareEnvironment, signMany, type Environment } from './environment'
import { type Row, type Scenario } from './scenario'
import { mineAt, waiting } from './waiting'

const PAYMENTS = 5
const AMOUNT = 10_000n
const MONEY = 1_000_000_000n
const GWEI = 10n ** 9n
const CAP = 50n * GWEI
const SPIKE = 500n * GWEI
const USUAL = GWEI
/** Longer than the interval after which the facilitator checks a stuck transaction's fee. */
const SPIKE_SECONDS = 7

const HELP = `The base fee rises to ten times the network's max_fee_per_gas for ${SPIKE_SECONDS} seconds, with a block in each. ${PAYMENTS} payments are
  broadcast before it and not mined; ${PAYMENTS} are requested during it. During it nothing may be signed for the new ones, no nonce
  used, and none of the old ones mined. Then fees fall: the old ones must all succeed, the new ones must each end, as a success
  with one transfer or as a failure with none, and ${PAYMENTS} last ones must all succeed. No version of any transaction may exceed the
  cap, and the nonces must be contiguous.`

export const gasSpike: Scenario = {
  name: 'gas-spike',
  help: HELP,
  rounds: 10,
  async run(stage) {
    const network = () => ({ max_fee_per_gas: CAP.toString() })
    const environment = await prepareEnvironment(stage, evm, { facilitators: 2, network })
    const { chain, ledger } = environment
    const payer = await chain.newPayer(MONEY)
    const sign = (payTo: string) => signMany(payer, PAYMENTS, { payTo, amount: AMOUNT })
    const totals = {
      transactions: 0,
      early: 0,
      earlyTransfers: 0,
      waited: 0,
      refused: 0,
      late: 0,
      transfers: 0,
    }
    const reasons = new Set<string>()
    const worstSeconds = { early: 0, late: 0 }
    let offers: bigint[] = []

    const problems = await playRounds(stage, async (round) => {
      const [payTo, payToLater] = [await chain.newRecipient(), await chain.newRecipient()]
      const [before, during, after] = [await sign(payTo), await sign(payToLater), await sign(payToLater)]
      const signedSoFar = (await ledger.transactions()).length
      await chain.setPace('stopped')
      const settlingBefore = environment.settleAll(before)
      const sent = await waiting(environment, payTo, PAYMENTS)

      const mining = await mineAt(environment, SPIKE)
      const settlingDuring = environment.settleAll(during)
      await delay(SPIKE_SECONDS * 1000)
      mining.stop()
      const inSpike = (await ledger.transactions()).slice(signedSoFar)
      const problems: string[] = []
      const added = inSpike.length - sent.length
      if (added > 0) problems.push(`${added} transactions were signed although gas was past the cap`)
      const mined = inSpike.filter(({ status }) => status !== 'signed')
      if (mined.length > 0)
        problems.push(`${mined.length} transactions were mined although gas was past the cap`)

      await chain.mine({ baseFee: USUAL })
      await chain.setPace('at-once')
      const began = performance.now()
      const secondsNow = () => (performance.now() - began) / 1000
      const first = await settlingBefore
      worstSeconds.early = Math.max(worstSeconds.early, secondsNow())
      const second = await settlingDuring
      const third = await environment.settleAll(after)
      await until(ledger.open, (open) => open === 0)
      worstSeconds.late = Math.max(worstSeconds.late, secondsNow())

      const early = await auditPayments({ ...environment, payTo, ended: first })
      const later = await auditPayments({ ...environment, payTo: payToLater, ended: [...second, ...third] })
      problems.push(...early.problems, ...later.problems, ...(await auditTransactions(environment)))
      if (early.successes !== PAYMENTS)
        problems.push(`${early.successes} of ${PAYMENTS} succeeded that were on their way before the spike`)
      const refusals = second.flatMap(({ end }) => (end.success ? [] : [end.errorReason]))
      const late = third.filter(({ end }) => end.success).length
      if (late !== PAYMENTS) problems.push(`${late} of ${PAYMENTS} succeeded after the spike`)
      offers = await offersOf(environment)
      const highest = highestOf(offers)
      if (highest > CAP) problems.push(`a transaction offers ${highest} wei for gas, past the cap of ${CAP}`)

      for (const reason of refusals) reasons.add(reason)
      totals.transactions += sent.length
      totals.early += early.successes
      totals.earlyTransfers += early.transfers
      totals.waited += PAYMENTS - refusals.length
      totals.refused += refusals.length
      totals.late += late
      totals.transfers += later.transfers
      stage.say(
        `· round ${round}: ${PAYMENTS} payments in ${sent.length} transactions waited through the spike, ${early.successes} succeeded then; ` +
          `of ${PAYMENTS} in it ${PAYMENTS - refusals.length} waited and succeeded, ${refusals.length} were refused; ${late} succeeded after it; ` +
          `at most ${inGwei(highest)} gwei offered`,
      )
      return problems
    })

    const row = (
      findings: Pick<Row, 'fault' | 'payments' | 'outcome' | 'counted' | 'worstSeconds'>,
    ): Row => ({
      where: 'chain',
      times: stage.rounds,
      ...findings,
    })
    const versions = `${offers.length} versions of all transactions, the highest offers ${inGwei(highestOf(offers))} gwei of ${inGwei(CAP)} allowed`
    return {
      problems,
      rows: [
        row({
          fault: 'Gas exceeds the cap while payments are pending',
          payments: stage.rounds * PAYMENTS,
          outcome:
            'They stay unmined, and none is sent above the cap. When fees fall each succeeds, and no nonce is skipped.',
          counted: `${totals.transactions} transactions, ${totals.early} successes, ${totals.earlyTransfers} transfers; ${versions}`,
          worstSeconds: worstSeconds.early,
        }),
        row({
          fault: 'Payments are requested while gas exceeds the cap, and afterwards',
          payments: 2 * stage.rounds * PAYMENTS,
          outcome: `Above the cap nothing is signed and no nonce used: ${describeOutcome(totals, [...reasons])}. All later ones succeed.`,
          counted: `${totals.waited} waited and succeeded, ${totals.refused} refused, ${totals.late} succeeded afterwards; ${totals.transfers} transfers`,
          worstSeconds: worstSeconds.late,
        }),
      ],
    }
  },
}

/** The maximum fee per gas (wei) of every version of every transaction so far. */
const offersOf = async ({ ledger }: Environment): Promise<bigint[]> =>
  (await ledger.versions()).map((raw) => Transaction.from(raw).maxFeePerGas ?? 0n)

const highestOf = (offers: readonly bigint[]) =>
  offers.reduce((high, offer) => (offer > high ? offer : high), 0n)
const inGwei = (wei: bigint) => formatUnits(wei, 'gwei').replace(/\.0$/, '')

/** The outcome of payments that were requested during the spike. */
function describeOutcome(
  { waited, refused }: { waited: number; refused: number },
  reasons: readonly string[],
) {
  const waits = 'waits, and succeeds when fees fall'
  const isRefused = `is refused (${reasons.join(', ')}), and moves no money`
  if (refused === 0) return `each ${waits}`
  return waited === 0 ? `each ${isRefused}` : `each ${waits}, or ${isRefused}`
}
