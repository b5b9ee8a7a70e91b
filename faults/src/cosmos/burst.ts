import { auditPayments, auditTransactions } from '../audit-payments'
import { cosmos } from '../family'
import { playRounds, prepareEnvironment } from '../environment'
import { type Row, type Scenario } from '../scenario'

const PAYMENTS = 200
const AMOUNT = 10_000n
const FEWER = 4

const HELP = `${PAYMENTS} payments of as many payers in parallel over two facilitators with one signer, which must first grant two of three
  payers an allowance. In odd rounds each transaction is mined at once, in even rounds a block is mined each second. All must
  succeed, each by one transfer, with far fewer grant transactions than allowances; the signer's sequences must be contiguous,
  every allowance used, and the fees in the database equal to those on the chain.`

const faultOf = {
  'at-once': `${PAYMENTS} payments in parallel, each transaction mined at once`,
  'by-interval': `${PAYMENTS} payments in parallel, a block each second`,
} as const
type Pace = keyof typeof faultOf

type RoundResult = {
  pace: Pace
  successes: number
  transfers: number
  allowances: number
  grants: number
  seconds: number
}

export const cosmosBurst: Scenario = {
  name: `${cosmos.prefix}burst`,
  help: `${cosmos.helpPrefix}${HELP}`,
  rounds: 4,
  async run(stage) {
    const environment = await prepareEnvironment(stage, cosmos, { facilitators: 2 })
    const { chain, ledger } = environment
    const grantsSoFar = async () => (await ledger.transactions()).filter(({ nonce }) => nonce !== null).length

    const played: RoundResult[] = []
    const problems = await playRounds(stage, async (round) => {
      const pace = round % 2 === 1 ? 'at-once' : 'by-interval'
      const payTo = await chain.newRecipient()
      const payments = await chain.newPayments(PAYMENTS, { payTo, amount: AMOUNT })
      const allowances = payments.filter(({ isSponsored }) => isSponsored).length
      const before = await grantsSoFar()

      await chain.setPace(pace)
      const began = performance.now()
      const settled = await environment.settleAll(payments)
      const seconds = (performance.now() - began) / 1000
      await chain.setPace('at-once')

      const grants = (await grantsSoFar()) - before
      const audited = await auditPayments({ ...environment, payTo, ended: settled })
      const problems = [...audited.problems, ...(await auditTransactions(environment))]
      const { successes, transfers } = audited
      if (successes !== PAYMENTS)
        problems.push(`${successes} of ${PAYMENTS} succeeded; ${reasonsOf(settled.map(({ end }) => end))}`)
      if (grants * FEWER > allowances)
        problems.push(`${grants} transactions are not far fewer than ${allowances} allowances`)
      played.push({ pace, successes, transfers, allowances, grants, seconds })
      stage.say(
        `· round ${round}, blocks ${pace}: ${successes} successes, ${settled.filter(({ pendings }) => pendings > 0).length} pending first; ` +
          `${transfers} transfers; ${allowances} allowances in ${grants} transactions; ${seconds.toFixed(1)} s`,
      )
      return problems
    })
    return {
      problems,
      rows: (['at-once', 'by-interval'] as const).flatMap((pace) => rowsOf(pace, played)),
    }
  },
}

const reasonsOf = (ends: readonly { errorReason: string }[]) =>
  [...new Set(ends.map(({ errorReason }) => errorReason))].join(', ')

function rowsOf(pace: Pace, all: readonly RoundResult[]): Row[] {
  const rounds = all.filter((one) => one.pace === pace)
  if (rounds.length === 0) return []
  const sum = (of: (one: RoundResult) => number) => rounds.reduce((total, one) => total + of(one), 0)
  return [
    {
      fault: faultOf[pace],
      where: 'clients',
      times: rounds.length,
      payments: rounds.length * PAYMENTS,
      outcome:
        'Every payment succeeds once. Allowances that wait together share a transaction, and all are used up; no sequence is skipped or used twice.',
      counted:
        `${sum(({ successes }) => successes)} successes, ${sum(({ transfers }) => transfers)} transfers; ` +
        `${sum(({ allowances }) => allowances)} allowances in ${sum(({ grants }) => grants)} transactions`,
      worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
    },
  ]
}
