import { auditPayments, auditTransactions } from './audit-payments'
import { cosmos, evm, type Family } from './family'
import { playRounds, prepareGround } from './ground'
import { type PayingChain } from './paying-chain'
import { type Scenario } from './scenario'
import { until } from '../testing/paying'

const ASKED = 100
const AFTERWARDS = 4
const AMOUNT = 10_000n

const HELP = `One payment, settled ${ASKED} times in parallel over two facilitators and under two client keys, without an
  Idempotency-Key, and ${AFTERWARDS} times more when all is over. One success may be handed out, and one transaction
  made, with one more before it where an allowance has to be granted.`

const onePaymentOn = <C extends PayingChain>(family: Family<C>): Scenario => ({
  name: `${family.prefix}one-payment`,
  help: `${family.told}${HELP}`,
  rounds: 20,
  async run(stage) {
    const ground = await prepareGround(stage, family, { facilitators: 2 })
    const { chain, books } = ground
    const shops = [ground.shop, await ground.newShop()] as const
    const totals = { asked: 0, successes: 0, duplicates: 0, transfers: 0, transactions: 0 }

    const problems = await playRounds(stage, async (round) => {
      const payTo = await chain.newRecipient()
      const [payment] = await chain.newPayments(1, { payTo, amount: AMOUNT })
      if (!payment) throw new Error('nobody pays')
      const signedBefore = (await books.transactions()).length
      // The facilitator changes with every other question, so that each shop asks both.
      const ask = (n: number) => (n % 2 === 0 ? shops[0] : shops[1]).ask(n >> 1, payment.request)
      const answers = await Promise.all(Array.from({ length: ASKED }, (_, n) => ask(n)))
      await until(books.open, (open) => open === 0)
      for (let n = 0; n < AFTERWARDS; n++) answers.push(await ask(n))

      const successes = answers.filter(({ result }) => result.success)
      const duplicates = answers.filter(({ result }) => result.errorReason === 'duplicate_settlement')
      const end = successes[0]?.result
      const { problems, transfers } = await auditPayments({ ...ground, payTo, ended: [{ payment, end }] })
      const transactions = (await books.transactions()).length - signedBefore
      if (successes.length !== 1) problems.push(`${successes.length} successes were handed out`)
      const others = answers.filter((answer) => !successes.includes(answer) && !duplicates.includes(answer))
      if (others.length > 0)
        problems.push(`${others.length} answers were neither: ${JSON.stringify(others.slice(0, 2))}`)
      if (transactions !== (payment.isSponsored ? 2 : 1))
        problems.push(`${transactions} transactions were signed`)
      problems.push(...(await auditTransactions(ground)))

      totals.asked += answers.length
      totals.successes += successes.length
      totals.duplicates += duplicates.length
      totals.transfers += transfers
      totals.transactions += transactions
      stage.say(
        `· round ${round}: ${answers.length} asked, ${successes.length} told of success, ${duplicates.length} of a duplicate; ${transfers} transfer, ${transactions} transaction`,
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
          outcome: 'One request is told of the success; all others, then and later, that it is a duplicate.',
          counted: `${totals.asked} requests, ${totals.successes} successes, ${totals.duplicates} duplicates, ${totals.transfers} transfers, ${totals.transactions} transactions`,
        },
      ],
    }
  },
})

export const onePayment = onePaymentOn(evm)
export const cosmosOnePayment = onePaymentOn(cosmos)
