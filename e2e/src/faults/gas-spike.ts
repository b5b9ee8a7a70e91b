import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../testing/paying'
import { auditPayments, auditTransactions } from './audit-payments'
import { playRounds, prepareGround, signMany } from './ground'
import { type Scenario } from './scenario'

const PAYMENTS = 5
const AMOUNT = 10_000n
const MONEY = 1_000_000_000n
const GWEI = 10n ** 9n
const CAP = 50n * GWEI
const SPIKE = 500n * GWEI
const USUAL = GWEI
const SPIKE_SECONDS = 4

const HELP = `The base fee rises to ten times what the network's max_fee_per_gas allows, for ${SPIKE_SECONDS} seconds. ${PAYMENTS} payments that are asked for
  then must not be sent: no transaction is signed, no nonce used. Then fees fall: each of them ends, as a success with one
  transfer or as a failure with none, and ${PAYMENTS} new ones all succeed, with contiguous nonces.`

export const gasSpike: Scenario = {
  name: 'gas-spike',
  help: HELP,
  rounds: 10,
  async run(stage) {
    const network = () => ({ max_fee_per_gas: CAP.toString() })
    const ground = await prepareGround(stage, { facilitators: 2, alterations: { network } })
    const { chain, books } = ground
    const payer = await chain.newPayer(MONEY)
    const sign = (payTo: string) => signMany(payer, PAYMENTS, { payTo, amount: AMOUNT })
    const totals = { waited: 0, refused: 0, later: 0, transfers: 0 }
    const reasons = new Set<string>()
    let worstSeconds = 0

    const problems = await playRounds(stage, async (round) => {
      const payTo = chain.newRecipient()
      const [early, late] = [await sign(payTo), await sign(payTo)]
      await chain.setPace('stopped')
      await chain.mine({ baseFee: SPIKE })
      const signedBefore = (await books.transactions()).length
      const settling = ground.settleAll(early)
      await delay(SPIKE_SECONDS * 1000)
      const problems: string[] = []
      const signed = (await books.transactions()).length - signedBefore
      if (signed > 0) problems.push(`${signed} transactions were signed although gas was past the cap`)

      await chain.mine({ baseFee: USUAL })
      await chain.setPace('at-once')
      const began = performance.now()
      const ended = [...(await settling), ...(await ground.settleAll(late))]
      await until(books.open, (open) => open === 0)
      worstSeconds = Math.max(worstSeconds, (performance.now() - began) / 1000)

      const audited = await auditPayments({ ...ground, payTo, ended })
      problems.push(...audited.problems, ...(await auditTransactions(ground)))
      const refused = ended.filter(({ end }) => !end.success)
      const lateOnes = ended.slice(PAYMENTS).filter(({ end }) => end.success)
      if (lateOnes.length !== PAYMENTS)
        problems.push(`${lateOnes.length} of ${PAYMENTS} succeeded after the spike`)
      for (const { end } of refused) reasons.add(end.errorReason)
      totals.refused += refused.length
      totals.waited += audited.successes - lateOnes.length
      totals.later += lateOnes.length
      totals.transfers += audited.transfers
      stage.say(
        `· round ${round}: of ${PAYMENTS} in the spike ${audited.successes - lateOnes.length} waited and succeeded, ${refused.length} were refused; ` +
          `${lateOnes.length} succeeded after it`,
      )
      return problems
    })
    return {
      problems,
      rows: [
        {
          fault: 'Gas is dearer than the cap for a while',
          where: 'chain',
          times: stage.rounds,
          payments: 2 * stage.rounds * PAYMENTS,
          outcome: `Nothing is sent and no nonce is used while it is. What was asked for then waits and succeeds when fees fall, or is refused${
            reasons.size > 0 ? ` (${[...reasons].join(', ')})` : ''
          } and costs nothing; all that comes after succeeds.`,
          counted: `${totals.waited} waited, ${totals.refused} refused, ${totals.later} succeeded after it; ${totals.transfers} transfers`,
          worstSeconds,
        },
      ],
    }
  },
}
