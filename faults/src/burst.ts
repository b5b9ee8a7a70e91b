import { auditPayments, auditTransactions } from './audit-payments'
import { type Payer } from './evm'
import { evm } from './family'
import { playRounds, prepareEnvironment, type Environment } from './environment'
import { type Payment } from './paying-chain'
import { type Row, type Scenario } from './scenario'

const PAYMENTS = 500
const PAYERS = 50
const AMOUNT = 10_000n
const MONEY = 1_000_000_000n
const FEWER = 4

const HELP = `${PAYMENTS} distinct payments of ${PAYERS} payers in parallel over two facilitators with two signers. In odd rounds each
  transaction is mined at once, in even rounds a block is mined every two seconds. All must succeed, each by one transfer, in far
  fewer transactions; the nonces of both signers must be contiguous, in the database and on the chain. Each round prints the
  transactions, the gas per payment and of a payment settled alone, and the seconds until the last success.`

const faultOf = {
  'at-once': `${PAYMENTS} payments in parallel, each transaction mined at once`,
  'by-interval': `${PAYMENTS} payments in parallel, a block every two seconds`,
} as const
type Pace = keyof typeof faultOf

type RoundResult = {
  pace: Pace
  successes: number
  transfers: number
  transactions: number
  gas: bigint
  seconds: number
}

export const burst: Scenario = {
  name: 'burst',
  help: HELP,
  rounds: 4,
  async run(stage) {
    const environment = await prepareEnvironment(stage, evm, { facilitators: 2 })
    const { chain } = environment
    const payers: Payer[] = []
    while (payers.length < PAYERS) payers.push(await chain.newPayer(MONEY))
    const alone = await gasAlone(environment)
    stage.say(`· ${PAYERS} payers with money; a payment that is settled alone takes ${alone} gas`)

    const played: RoundResult[] = []
    const problems = await playRounds(stage, async (round) => {
      const pace = round % 2 === 1 ? 'at-once' : 'by-interval'
      const payTo = await chain.newRecipient()
      const payments: Payment[] = []
      for (let n = 0; n < PAYMENTS / PAYERS; n++)
        for (const payer of payers) payments.push(await payer.pay(payTo, AMOUNT))

      await chain.setPace(pace)
      const began = performance.now()
      const settled = await environment.settleAll(payments)
      const seconds = (performance.now() - began) / 1000
      await chain.setPace('at-once')

      const audited = await auditPayments({ ...environment, payTo, ended: settled })
      const problems = [...audited.problems, ...(await auditTransactions(environment))]
      const { successes, transfers, transactions } = audited
      if (successes !== PAYMENTS)
        problems.push(`${successes} of ${PAYMENTS} succeeded; ${reasonsOf(settled.map(({ end }) => end))}`)
      if (transactions.size * FEWER > PAYMENTS)
        problems.push(`${transactions.size} transactions are not far fewer than ${PAYMENTS} payments`)
      const gas = await gasOf(environment, transactions)
      played.push({ pace, successes, transfers, transactions: transactions.size, gas, seconds })
      stage.say(
        `· round ${round}, blocks ${pace}: ${successes} successes, ${settled.filter(({ pendings }) => pendings > 0).length} pending first; ` +
          `${transfers} transfers in ${transactions.size} transactions; ${gas / BigInt(PAYMENTS)} gas per payment, alone ${alone}; ${seconds.toFixed(1)} s`,
      )
      return problems
    })
    const rows = (['at-once', 'by-interval'] as const).flatMap((pace) => rowsOf(pace, played, alone))
    return { problems, rows }
  },
}

/** The gas of a second payment: the first one creates the recipient's balance, which costs more. */
async function gasAlone({ chain, merchant }: Environment): Promise<bigint> {
  const payer = await chain.newPayer(MONEY)
  const payTo = await chain.newRecipient()
  let gas: bigint | undefined
  for (const turn of [1, 2]) {
    const { end } = await merchant.settle(turn, (await payer.pay(payTo, AMOUNT)).request)
    gas = (await chain.mined(end.transaction))?.gas
  }
  if (gas === undefined) throw new Error('A payment that was settled alone is not on the chain')
  return gas
}

async function gasOf({ chain }: Environment, transactions: ReadonlySet<string>): Promise<bigint> {
  const mined = await Promise.all([...transactions].map((transaction) => chain.mined(transaction)))
  return mined.reduce((sum, one) => sum + (one?.gas ?? 0n), 0n)
}

const reasonsOf = (ends: readonly { errorReason: string }[]) =>
  [...new Set(ends.map(({ errorReason }) => errorReason))].join(', ')

function rowsOf(pace: Pace, all: readonly RoundResult[], alone: bigint): Row[] {
  const rounds = all.filter((one) => one.pace === pace)
  if (rounds.length === 0) return []
  const sum = (of: (one: RoundResult) => number) => rounds.reduce((total, one) => total + of(one), 0)
  const payments = rounds.length * PAYMENTS
  const gas = rounds.reduce((total, one) => total + one.gas, 0n) / BigInt(payments)
  return [
    {
      fault: faultOf[pace],
      where: 'clients',
      times: rounds.length,
      payments,
      outcome:
        'Every payment succeeds once. Payments that wait together share a transaction; no nonce is skipped or used twice.',
      counted:
        `${sum(({ successes }) => successes)} successes, ${sum(({ transfers }) => transfers)} transfers, ` +
        `${sum(({ transactions }) => transactions)} transactions; ${gas} gas per payment, alone ${alone}`,
      worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
    },
  ]
}
