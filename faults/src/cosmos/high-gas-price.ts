import { setTimeout as delay } from 'node:timers/promises'
import { until } from '@tollgate/e2e/testing/paying'
import { auditPayments, auditTransactions } from '../audit-payments'
import { cosmos } from '../family'
import { playRounds, prepareEnvironment } from '../environment'
import { type Row, type Scenario } from '../scenario'
import { allSigned } from './waiting'

const PAYMENTS = 6
const AMOUNT = 10_000n
const USUAL = '0.025uatom'
/** Above the price of allowances and payments. */
const DEAR = '1uatom'
const DEAR_SECONDS = 5

const HELP = `The node's minimum gas price exceeds the network's settings and the payers' fees for ${DEAR_SECONDS} seconds, with a block in each.
  ${PAYMENTS} payments are in flight when it begins: the next block includes pending transactions, and the payments whose allowances are
  in it are too late; ${PAYMENTS} more are requested during it, and ${PAYMENTS} after it. During it no late transaction may be mined; a payment
  that the node refuses for its fee must fail as invalid_payment, and be settled when it is requested again after the price fell.
  Then all must have succeeded, each by one transfer, with contiguous sequences, no allowance left, and no transaction signed
  again with a higher fee.`

export const cosmosHighGasPrice: Scenario = {
  name: `${cosmos.prefix}dear-gas`,
  help: `${cosmos.helpPrefix}${HELP}`,
  rounds: 20,
  async run(stage) {
    const environment = await prepareEnvironment(stage, cosmos, { facilitators: 2 })
    const { chain, ledger } = environment
    const totals = { waited: 0, asked: 0, refused: 0, transfers: 0, versions: 0, transactions: 0 }
    let worstSeconds = 0

    const problems = await playRounds(stage, async (round) => {
      const payTo = await chain.newRecipient()
      const newPayments = () => chain.newPayments(PAYMENTS, { payTo, amount: AMOUNT })
      const [before, during, after] = [await newPayments(), await newPayments(), await newPayments()]
      const signedSoFar = (await ledger.transactions()).length
      await chain.setPace('stopped')
      const early = environment.settleAll(before)
      await allSigned(environment, payTo, PAYMENTS)
      await chain.setMinimumGasPrice(DEAR)
      await chain.setPace('by-interval')
      // A block includes pending transactions at any price.
      await chain.mine()
      const paidBefore = (await chain.paidTo(payTo)).length
      const meanwhile = environment.settleAll(during)
      await delay(DEAR_SECONDS * 1000)
      const problems: string[] = []
      const paidMeanwhile = (await chain.paidTo(payTo)).length - paidBefore
      if (paidMeanwhile > 0)
        problems.push(`${paidMeanwhile} payments were mined although the node asked for more`)

      await chain.setMinimumGasPrice(USUAL)
      await chain.setPace('at-once')
      const began = performance.now()
      const [first, second] = await Promise.all([early, meanwhile])
      const refused = [...first, ...second].filter(({ end }) => end.errorReason === 'invalid_payment')
      const again = await environment.settleAll(refused.map(({ payment }) => payment))
      const third = await environment.settleAll(after)
      await until(ledger.open, (open) => open === 0)
      const seconds = (performance.now() - began) / 1000
      worstSeconds = Math.max(worstSeconds, seconds)

      const ended = [...first, ...second].filter((one) => !refused.includes(one)).concat(again, third)
      const audited = await auditPayments({ ...environment, payTo, ended })
      problems.push(...audited.problems, ...(await auditTransactions(environment)))
      if (audited.successes !== ended.length)
        problems.push(`${audited.successes} of ${ended.length} succeeded`)
      const signed = (await ledger.transactions()).slice(signedSoFar)
      const versions = signed.reduce((sum, one) => sum + Number(one.versions), 0)
      if (versions !== signed.length)
        problems.push(`${versions} versions of ${signed.length} transactions were signed`)

      totals.waited += first.length
      totals.asked += second.length
      totals.refused += refused.length
      totals.transfers += audited.transfers
      totals.versions += versions
      totals.transactions += signed.length
      stage.say(
        `· round ${round}: ${paidBefore} payments mined before, ${paidMeanwhile} while gas was dear; ${refused.length} refused for their fee; then ${audited.successes} of ${ended.length} successes, ` +
          `${audited.transfers} transfers; in order after ${seconds.toFixed(1)} s`,
      )
      return problems
    })
    const row: Row = {
      fault: 'The node’s minimum gas price rises above that of allowances and payments, some of them pending',
      where: 'chain',
      times: stage.rounds,
      payments: 3 * stage.rounds * PAYMENTS,
      outcome:
        'Nothing is sent above the configured price. A payment whose own fee the node refuses fails. After the price fell every payment succeeds by one transfer, those when they are requested again.',
      counted: `${totals.waited} pending and ${totals.asked} requested meanwhile, ${totals.refused} refused; ${totals.transfers} transfers; ${totals.transactions} transactions in ${totals.versions} versions`,
      worstSeconds,
    }
    return { problems, rows: [row] }
  },
}
