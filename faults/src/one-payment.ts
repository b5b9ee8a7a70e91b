import { auditPayments, auditTransactions } from './audit-payments'
import { cosmos, evm, type Family } from './family'
import { playRounds, prepareEnvironment } from './environment'
import { type PayingChain } from './paying-chain'
import { type Scenario } from './scenario'
import { until } from '@tollgate/e2e/testing/paying'

const ASKED = 100
const AFTERWARDS = 4
const AMOUNT = 10_000n

const HELP = `One payment, settled ${ASKED} times in parallel over two facilitators and two client keys, without an Idempotency-Key,
  and ${AFTERWARDS} times more afterwards. Exactly one success may be reported and one transaction made, plus one fee grant if an
  allowance is needed.`

const onePaymentOn = <C extends PayingChain>(family: Family<C>): Scenario => ({
  name: `${family.prefix}one-payment`,
  help: `${family.helpPrefix}${HELP}`,
  rounds: 20,
  async run(stage) {
    const environment = await prepareEnvironment(stage, family, { facilitators: 2 })
    const { chain, ledger } = environment
    const merchants = [environment.merchant, await environment.newMerchant()] as const
    const totals = { asked: 0, successes: 0, duplicates: 0, transfers: 0, transactions: 0 }

    const problems = await playRounds(stage, async (round) => {
      const payTo = await chain.newRecipient()
      const [payment] = await chain.newPayments(1, { payTo, amount: AMOUNT })
      if (!payment) throw new Error('the chain made no payment')
      const signedBefore = (await ledger.transactions()).length
      // The facilitator alternates every second request, so that each merchant uses both.
      const ask = (n: number) => (n % 2 === 0 ? merchants[0] : merchants[1]).ask(n >> 1, payment.request)
      const answers = await Promise.all(Array.from({ length: ASKED }, (_, n) => ask(n)))
      await until(ledger.open, (open) => open === 0)
      for (let n = 0; n < AFTERWARDS; n++) answers.push(await ask(n))

      const successes = answers.filter(({ result }) => result.success)
      const duplicates = answers.filter(({ result }) => result.errorReason === 'duplicate_settlement')
      const end = successes[0]?.result
      const { problems, transfers } = await auditPayments({
        ...environment,
        payTo,
        ended: [{ payment, end }],
      })
      const transactions = (await ledger.transactions()).length - signedBefore
      if (successes.length !== 1) problems.push(`${successes.length} successes were handed out`)
      const others = answers.filter((answer) => !successes.includes(answer) && !duplicates.includes(answer))
      if (others.length > 0)
        problems.push(`${others.length} answers were neither: ${JSON.stringify(others.slice(0, 2))}`)
      if (transactions !== (payment.isSponsored ? 2 : 1))
        problems.push(`${transactions} transactions were signed`)
      problems.push(...(await auditTransactions(environment)))

      totals.asked += answers.length
      totals.successes += successes.length
      totals.duplicates += duplicates.length
      totals.transfers += transfers
      totals.transactions += transactions
      stage.say(
        `· round ${round}: ${answers.length} asked, ${successes.length} successes, ${duplicates.length} duplicates; ${transfers} transfer, ${transactions} transaction`,
      )
      return problems
    })
    return {
      problems,
      rows: [
        {
          fault: `One payment settled ${ASKED} times in parallel, over two facilitators and two client keys`,
          where: 'clients',
          times: stage.rounds,
          payments: stage.rounds,
          outcome: 'One request gets the success; all others, then and later, get `duplicate_settlement`.',
          counted: `${totals.asked} requests, ${totals.successes} successes, ${totals.duplicates} duplicates, ${totals.transfers} transfers, ${totals.transactions} transactions`,
        },
      ],
    }
  },
})

export const onePayment = onePaymentOn(evm)
export const cosmosOnePayment = onePaymentOn(cosmos)
