import { until } from '../testing/paying'
import { newThirdParty } from '../testing/client-keys'
import { auditPayments, auditTransactions } from './audit-payments'
import { points, type Step } from './crash-points/steps'
import { openTrap } from './crash-points/trap'
import { evm } from './family'
import { playRounds, prepareGround } from './ground'
import { type Row, type Scenario } from './scenario'
import { openShop } from './shop'

const PAYMENTS = 3
const AMOUNT = 10_000n
const STOPPED_WITHIN_SECONDS = 30
const TAKEN_OVER_WITHIN_SECONDS = 60
const steps = ['signed', 'stored', 'broadcast', 'mined', 'recorded'] as const satisfies readonly Step[]

const HELP = `SIGSTOP of whichever of two facilitators carries out a settlement, at a step of it, while ${PAYMENTS} payments are under way, each
  asked for at both and without an Idempotency-Key, until the other has settled them; then SIGCONT. Each payment must have
  one transfer and one success, and what was stopped must settle again. Each round makes all of these:
${steps.map((step) => `    ${step.padEnd(15)} ${points[step].says}`).join('\n')}`

type Played = { step: Step; successes: number; transfers: number; transactions: number; seconds: number }

export const facilitatorStalled: Scenario = {
  name: 'facilitator-stalled',
  help: HELP,
  rounds: 3,
  parts: steps,
  async run(stage) {
    const trap = openTrap({ signal: 'SIGSTOP' })
    stage.closeLater(() => trap.remove())
    const ground = await prepareGround(stage, evm, { environment: trap.environment })
    const { world, chain, books } = ground
    const replicas = [world.facilitator, await world.addFacilitator()]
    const wake = () => replicas.forEach(({ pid }) => process.kill(pid(), 'SIGCONT'))
    // What is stopped cannot be asked to end.
    stage.closeLater(wake)
    const key = await (await newThirdParty(world.facilitator)).newKey()
    const shops = replicas.map(({ url }) => openShop([url], key))
    stage.closeLater(() => Promise.all(shops.map((shop) => shop.close())))

    const chosen = steps.filter((step) => stage.parts?.includes(step) ?? true)
    const played: Played[] = []
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
      trap.arm(step)
      const asking = Promise.all(
        payments.map(({ request }) => Promise.all(shops.map((shop) => shop.settle(0, request)))),
      )
      asking.catch(() => undefined)
      const { pid, at } = await trap.killed(STOPPED_WITHIN_SECONDS)
      await until(books.open, (open) => open === 0, TAKEN_OVER_WITHIN_SECONDS)
      const seconds = (Date.now() - at) / 1000
      process.kill(pid, 'SIGCONT')
      const told = await asking
      // By now it has done whatever it was about to do: this is settled after it.
      const [last] = await chain.newPayments(1, { payTo, amount: AMOUNT })
      const woken = shops[replicas.findIndex((replica) => replica.pid() === pid)]
      if (!last || !woken) throw new Error('what was stopped is gone')
      const { end } = await woken.settle(0, last.request)

      const successOf = (ends: (typeof told)[number]) => ends.filter((one) => one.successes > 0)
      const ended = payments.map((payment, n) => ({
        payment,
        end: (successOf(told[n] ?? [])[0] ?? told[n]?.[0])?.end,
      }))
      const audited = await auditPayments({ payTo, ended: [...ended, { payment: last, end }], chain, books })
      const { problems } = audited
      const successes = told.reduce((sum, ends) => sum + successOf(ends).length, 0)
      if (told.some((ends) => successOf(ends).length !== 1))
        problems.push(`${successes} successes of ${PAYMENTS} payments`)
      if (!end.success) problems.push(`what was stopped does not settle any more: ${end.errorReason}`)
      problems.push(...(await auditTransactions({ chain, books })))
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

function rowOf(step: Step, all: readonly Played[]): Row {
  const sum = (of: (one: Played) => number) => all.reduce((total, one) => total + of(one), 0)
  return {
    fault: `SIGSTOP of one of two when ${step}: ${points[step].says}; SIGCONT when the other has settled`,
    where: 'facilitator',
    times: all.length,
    payments: all.length * PAYMENTS,
    outcome:
      'The other takes the signer over and settles. What was stopped sends no other transaction and reports no second success, and settles again.',
    counted: `${sum(({ successes }) => successes)} successes, ${sum(({ transfers }) => transfers)} transfers, ${sum(({ transactions }) => transactions)} transactions`,
    worstSeconds: Math.max(...all.map(({ seconds }) => seconds)),
  }
}
