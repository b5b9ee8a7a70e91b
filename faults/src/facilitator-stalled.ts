import { until } from '@tollgate/e2e/testing/paying'
import { newThirdParty } from '@tollgate/e2e/testing/client-keys'
import { auditPayments, auditTransactions } from './audit-payments'
import { points, type Step } from './crash-points/steps'
import { openCrashHook } from './crash-points/crash-hook'
import { evm } from './family'
import { playRounds, prepareEnvironment } from './environment'
import { type Row, type Scenario } from './scenario'
import { openMerchant } from './merchant'

const PAYMENTS = 3
const AMOUNT = 10_000n
const STOPPED_WITHIN_SECONDS = 30
const TAKEN_OVER_WITHIN_SECONDS = 60
const steps = ['signed', 'stored', 'broadcast', 'mined', 'recorded'] as const satisfies readonly Step[]

const HELP = `SIGSTOP of the one of two facilitators that executes a settlement, at one of its steps, while ${PAYMENTS} payments are in flight, each
  requested at both without an Idempotency-Key, until the other has settled them; then SIGCONT. Each payment must have
  one transfer and one success, and the stopped facilitator must settle again. Each round stops it at each of these:
${steps.map((step) => `    ${step.padEnd(15)} ${points[step].says}`).join('\n')}`

type RoundResult = { step: Step; successes: number; transfers: number; transactions: number; seconds: number }

export const facilitatorStalled: Scenario = {
  name: 'facilitator-stalled',
  help: HELP,
  rounds: 3,
  parts: steps,
  async run(stage) {
    const crashHook = openCrashHook({ signal: 'SIGSTOP' })
    stage.closeLater(() => crashHook.remove())
    const environment = await prepareEnvironment(stage, evm, { environment: crashHook.environment })
    const { world, chain, ledger } = environment
    const replicas = [world.facilitator, await world.addFacilitator()]
    const wake = () => replicas.forEach(({ pid }) => process.kill(pid(), 'SIGCONT'))
    // A stopped process does not handle SIGTERM.
    stage.closeLater(wake)
    const key = await (await newThirdParty(world.facilitator)).newKey()
    const merchants = replicas.map(({ url }) => openMerchant([url], key))
    stage.closeLater(() => Promise.all(merchants.map((merchant) => merchant.close())))

    const chosen = steps.filter((step) => stage.parts?.includes(step) ?? true)
    const played: RoundResult[] = []
    const problems = await playRounds(stage, async (round) => {
      const found: string[] = []
      for (const step of chosen) {
        stage.signal.throwIfAborted()
        const one = await playStep(round, step)
        found.push(...one.problems.map((problem) => `stopped when ${step}: ${problem}`))
      }
      return found
    })
    return {
      problems,
      rows: chosen.map((step) =>
        rowOf(
          step,
          played.filter((one) => one.step === step),
        ),
      ),
    }

    async function playStep(round: number, step: Step) {
      const payTo = await chain.newRecipient()
      const payments = await chain.newPayments(PAYMENTS, { payTo, amount: AMOUNT })
      crashHook.arm(step)
      const asking = Promise.all(
        payments.map(({ request }) => Promise.all(merchants.map((merchant) => merchant.settle(0, request)))),
      )
      asking.catch(() => undefined)
      const { pid, at } = await crashHook.killed(STOPPED_WITHIN_SECONDS)
      await until(ledger.open, (open) => open === 0, TAKEN_OVER_WITHIN_SECONDS)
      const seconds = (Date.now() - at) / 1000
      process.kill(pid, 'SIGCONT')
      const outcomes = await asking
      // This payment settles after everything that the resumed process had in progress.
      const [last] = await chain.newPayments(1, { payTo, amount: AMOUNT })
      const woken = merchants[replicas.findIndex((replica) => replica.pid() === pid)]
      if (!last || !woken) throw new Error('what was stopped is gone')
      const { end } = await woken.settle(0, last.request)

      const successOf = (ends: (typeof outcomes)[number]) => ends.filter((one) => one.successes > 0)
      const ended = payments.map((payment, n) => ({
        payment,
        end: (successOf(outcomes[n] ?? [])[0] ?? outcomes[n]?.[0])?.end,
      }))
      const audited = await auditPayments({ payTo, ended: [...ended, { payment: last, end }], chain, ledger })
      const { problems } = audited
      const successes = outcomes.reduce((sum, ends) => sum + successOf(ends).length, 0)
      if (outcomes.some((ends) => successOf(ends).length !== 1))
        problems.push(`${successes} successes of ${PAYMENTS} payments`)
      if (!end.success) problems.push(`what was stopped does not settle any more: ${end.errorReason}`)
      problems.push(...(await auditTransactions({ chain, ledger })))
      const transfers = audited.transfers - (end.success ? 1 : 0)
      const transactions = new Set([...audited.transactions].filter((one) => one !== end.transaction)).size
      played.push({ step, successes, transfers, transactions, seconds })
      stage.say(
        `· round ${round}, stopped when ${step}, for ${seconds.toFixed(1)} s: ${PAYMENTS} payments asked for at both, ` +
          `${successes} successes, ${transfers} transfers in ${transactions} transactions`,
      )
      return { problems }
    }
  },
}

function rowOf(step: Step, all: readonly RoundResult[]): Row {
  const sum = (of: (one: RoundResult) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    fault: `SIGSTOP of one of two when ${step}: ${points[step].says}; SIGCONT when the other has settled`,
    where: 'facilitator',
    times: all.length,
    payments: all.length * PAYMENTS,
    outcome:
      'The other takes over the signer and settles. The stopped process sends no other transaction, reports no second success, and settles again after SIGCONT.',
    counted: `${sum(({ successes }) => successes)} successes, ${sum(({ transfers }) => transfers)} transfers, ${sum(({ transactions }) => transactions)} transactions`,
    worstSeconds: Math.max(...all.map(({ seconds }) => seconds)),
  }
}
