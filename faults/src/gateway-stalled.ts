import { setTimeout as delay } from 'node:timers/promises'
import { openCallers } from '@tollgate/e2e/testing/callers'
import { until } from '@tollgate/e2e/testing/paying'
import { auditCalls, auditMoney } from './audit'
import { evm } from './family'
import { playRounds } from './environment'
import { type Made } from './load'
import { startLoadedWorld } from './loaded-world'
import { type Scenario } from './scenario'

const CALLS = 30
const CREDITS = 100
const MONEY = 100_000_000n
const STOPPED_SECONDS = 22
const REFUNDED_WITHIN_SECONDS = 60
const WOKEN_WITHIN_SECONDS = 30

const HELP = `SIGSTOP of one of two gateways while ${CALLS} calls of a wallet are at their upstream, until the other considers it dead and has
  refunded them, and for at least ${STOPPED_SECONDS} s; then SIGCONT. In odd rounds the upstream answers while the gateway is stopped,
  in even rounds after it has resumed and sent a heartbeat. No refunded call may be answered, and the wallet must have its
  original credits.`

export const gatewayStalled: Scenario = {
  name: 'gateway-stalled',
  help: HELP,
  rounds: 6,
  async run(stage) {
    const loaded = await startLoadedWorld(stage, evm, { count: 0, credits: CREDITS })
    const { world, upstream, ledger, chain, plan } = loaded
    await world.addGateway()
    const callers = openCallers([world.gateway.url], CALLS)
    stage.closeLater(() => callers.close())
    // A stopped process does not handle SIGTERM.
    stage.closeLater(() => process.kill(world.gateway.pid(), 'SIGCONT'))
    const totals = { calls: 0, refunded: 0, answered: 0, free: 0, withheld: 0 }
    let longest = 0

    const problems = await playRounds(stage, async (round) => {
      const customer = await evm.newCustomer(world, plan, MONEY)
      const { token } = customer.session
      const pid = world.gateway.pid()
      const idOf = (n: number) => `${round}/${n}`
      const made: Made[] = []
      const call = async (n: number, more: { answerMode?: 'answer_held'; payment?: string } = {}) => {
        const { status, body } = await callers.call(n, { id: idOf(n), token, ...more })
        const code = body['code'] as string | undefined
        made.push({ id: idOf(n), wallet: customer.address, status, code })
        return { status, code, body }
      }
      const asked = await call(CALLS)
      const bought = await call(CALLS + 1, { payment: await customer.pay(asked.body) })
      if (bought.status !== 200) throw new Error(`The first call was answered ${bought.status}`)
      await ledger.settled(REFUNDED_WITHIN_SECONDS)
      const before = await ledger.balance(customer.address)

      const calls = Promise.all(
        Array.from({ length: CALLS }, (_, n) => call(n, { answerMode: 'answer_held' })),
      )
      await until(
        () => Promise.resolve(Array.from({ length: CALLS }, (_, n) => upstream.asked.has(idOf(n)))),
        (there) => there.every(Boolean),
      )
      process.kill(pid, 'SIGSTOP')
      const stoppedAt = performance.now()
      const answersWhileStopped = round % 2 === 1
      if (answersWhileStopped) upstream.release()
      await Promise.all([ledger.settled(REFUNDED_WITHIN_SECONDS), delay(STOPPED_SECONDS * 1000)])
      const stoppedSeconds = (performance.now() - stoppedAt) / 1000
      const refunded = (await ledger.balance(customer.address)) - (before - BigInt(CALLS))
      process.kill(pid, 'SIGCONT')
      const wokenAt = performance.now()
      if (!answersWhileStopped) {
        await until(
          () => ledger.count("FROM replicas WHERE heartbeat_at > now() - INTERVAL '3 seconds'"),
          (living) => living === 2,
          WOKEN_WITHIN_SECONDS,
        )
        upstream.release()
      }
      const ends = await calls
      const next = await call(CALLS + 2)
      const seconds = (performance.now() - wokenAt) / 1000
      await ledger.settled(REFUNDED_WITHIN_SECONDS)
      const after = await ledger.balance(customer.address)

      const { problems, counts } = await auditCalls({ round, made, ledger, upstream, away: ['UNAVAILABLE'] })
      problems.push(...(await auditMoney(ledger, await chain.paidTo(plan.pay_to))).problems)
      const answered = ends.filter(({ status }) => status === 200).length
      const withheld = ends.filter(({ status, code }) => status === 503 && code === 'UNAVAILABLE').length
      if (Number(refunded) !== CALLS) problems.push(`${refunded} of ${CALLS} calls were refunded`)
      if (counts.servedFree > 0)
        problems.push(`${counts.servedFree} of ${CALLS} calls were answered for free`)
      if (withheld !== CALLS) problems.push(`${withheld} of ${CALLS} calls were answered 503`)
      if (next.status !== 200) problems.push(`a call after that was answered ${next.status}`)
      if (after !== before - 1n) problems.push(`${before} credits before, ${after} after one more call`)

      stage.say(
        `· round ${round}, upstream answers ${answersWhileStopped ? 'while it is stopped' : 'after its next heartbeat'}: ` +
          `stopped for ${stoppedSeconds.toFixed(1)} s; ${CALLS} calls under way, ${refunded} refunded, ${answered} answered, ` +
          `${counts.servedFree} free, ${withheld} withheld; ${before} credits before, ${after} after one more call`,
      )
      totals.calls += CALLS
      totals.refunded += Number(refunded)
      totals.answered += answered
      totals.free += counts.servedFree
      totals.withheld += withheld
      longest = Math.max(longest, seconds)
      return problems
    })
    return {
      problems,
      rows: [
        {
          fault: `SIGSTOP of one of two, with ${CALLS} calls at their upstream, until the other has refunded them; then SIGCONT`,
          where: 'gateway',
          times: stage.rounds,
          payments: stage.rounds,
          outcome:
            'No refunded call is answered: each ends with 503 and a refund. The next call is served and charged.',
          counted: `${totals.calls} calls under way, ${totals.refunded} refunded, ${totals.answered} answered, ${totals.free} of them free, ${totals.withheld} withheld`,
          worstSeconds: longest,
        },
      ],
    }
  },
}
