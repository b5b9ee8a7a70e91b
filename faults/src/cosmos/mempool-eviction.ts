import { until } from '@tollgate/e2e/testing/paying'
import { auditPayments, auditTransactions } from '../audit-payments'
import { cosmos } from '../family'
import { playRounds, prepareEnvironment, type Environment } from '../environment'
import { type Payment } from '../paying-chain'
import { type Scenario } from '../scenario'
import { type Cosmos } from './chain'
import { allSigned, allPending } from './waiting'

const PAYMENTS = 6
const AMOUNT = 10_000n
const SENT_WITHIN_SECONDS = 30

const HELP = `The node evicts its mempool, as a restart does, while ${PAYMENTS} payments are in flight: once while the allowances and
  the payments without one are pending, and once while the sponsored payments are pending. Evicted transactions must be
  broadcast again unchanged: all succeed, each by one transfer, with one transaction for each eviction's allowances, and
  nothing is signed twice.`

export const cosmosMempoolEviction: Scenario = {
  name: `${cosmos.prefix}dropped`,
  help: `${cosmos.helpPrefix}${HELP}`,
  rounds: 20,
  async run(stage) {
    const environment = await prepareEnvironment(stage, cosmos, { facilitators: 2 })
    const { chain, ledger } = environment
    const totals = { dropped: 0, versions: 0, transactions: 0, successes: 0, transfers: 0 }
    let worstSeconds = 0

    const problems = await playRounds(stage, async (round) => {
      const payTo = await chain.newRecipient()
      const payments = await chain.newPayments(PAYMENTS, { payTo, amount: AMOUNT })
      const signedSoFar = (await ledger.transactions()).length
      await chain.setPace('stopped')
      const settling = environment.settleAll(payments)
      await allSigned(environment, payTo, PAYMENTS)
      const first = await chain.dropPending()
      const began = performance.now()
      await allPending(environment)
      await chain.mine()
      await allSent(environment, payTo, payments)
      await allPending(environment)
      const second = await chain.dropPending()
      await allPending(environment)
      await chain.setPace('at-once')
      const ended = await settling
      await until(ledger.open, (open) => open === 0)
      const seconds = (performance.now() - began) / 1000
      worstSeconds = Math.max(worstSeconds, seconds)

      const audited = await auditPayments({ ...environment, payTo, ended })
      const problems = [...audited.problems, ...(await auditTransactions(environment))]
      if (audited.successes !== PAYMENTS) problems.push(`${audited.successes} of ${PAYMENTS} succeeded`)
      const signed = (await ledger.transactions()).slice(signedSoFar)
      const versions = signed.reduce((sum, one) => sum + Number(one.versions), 0)
      if (versions !== signed.length)
        problems.push(`${versions} versions of ${signed.length} transactions were signed`)
      if (first === 0 || second === 0) problems.push('the node forgot nothing')

      totals.dropped += first + second
      totals.versions += versions
      totals.transactions += signed.length
      totals.successes += audited.successes
      totals.transfers += audited.transfers
      stage.say(
        `· round ${round}: ${first} and then ${second} transactions forgotten; ${audited.successes} successes, ${audited.transfers} transfers; ` +
          `in order after ${seconds.toFixed(1)} s`,
      )
      return problems
    })
    return {
      problems,
      rows: [
        {
          fault: 'The node drops its mempool, first the allowances and then the payments',
          where: 'chain',
          times: stage.rounds,
          payments: stage.rounds * PAYMENTS,
          outcome: 'Each transaction is broadcast again unchanged; every payment succeeds by one transfer.',
          counted: `${totals.dropped} transactions forgotten, ${totals.transactions} signed in ${totals.versions} versions; ${totals.successes} successes, ${totals.transfers} transfers`,
          worstSeconds,
        },
      ],
    }
  },
}

const allSent = ({ ledger }: Environment<Cosmos>, payTo: string, payments: readonly Payment[]) =>
  until(
    () => ledger.paidTo(payTo),
    (rows) =>
      rows.every(({ id, status, transaction }) =>
        payments.find((payment) => payment.id === id)?.isSponsored
          ? status === 'signed' && transaction !== null
          : status === 'settled',
      ),
    SENT_WITHIN_SECONDS,
  )
