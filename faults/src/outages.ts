import { startPostgres, startRedis } from '@tollgate/devnet'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { openCallers } from '@tollgate/e2e/testing/callers'
import { until } from '@tollgate/e2e/testing/paying'
import { type World } from '@tollgate/e2e/testing/world'
import { auditCalls, auditMoney } from './audit'
import { auditTransactions } from './audit-payments'
import { cosmos, evm, type Family } from './family'
import { playRounds } from './environment'
import { startLoad } from './load'
import { answers, startLoadedWorld } from './loaded-world'
import { type PayingChain } from './paying-chain'
import { type Row, type Scenario } from './scenario'
import { openSettlementQueries } from './settlement-queries'

const CUSTOMERS = 12
const CREDITS = 10
/** Before and after the outage. */
const ANSWERS = 200
const AWAY_SECONDS = 2
const RESOLVED_WITHIN_SECONDS = 90
/** Errors that the gateway may return while a dependency is unavailable; nothing may be charged. */
const ALLOWED_ERRORS = ['UNAVAILABLE', 'OVERLOADED']

const HELP = `Under load (${CUSTOMERS} wallets that call and buy repeatedly) a dependency of both services is stopped for ${AWAY_SECONDS} seconds and
  restarted: in odd rounds Postgres, by \`pg_ctl stop -m immediate\`, in even rounds Redis, by kill -9. Blocks are rare, so that
  payments are in flight. Then every call must be charged and answered once, or refunded, and every payment credited once, with
  one transfer; while Redis is down calls continue and sign-in is refused.`

type Outage = {
  fault: string
  where: string
  outcome: string
  stop(world: World): void
  start(world: World): Promise<void>
}

const outages: readonly Outage[] = [
  {
    fault: 'Postgres is stopped with `immediate` under load, and started again',
    where: 'Postgres',
    outcome:
      'No rejected call is charged; every answered call is charged once or refunded. Every payment is settled by one transfer and credited once.',
    stop: ({ infrastructure }) => process.kill(infrastructure.postgres.server.pid, 'SIGQUIT'),
    async start({ infrastructure, folder }) {
      const { server } = infrastructure.postgres
      const again = await startPostgres({ folder: join(folder, 'postgres'), port: server.port })
      Object.assign(server, { pid: again.pid, stop: again.stop })
    },
  },
  {
    fault: 'Redis is killed (kill -9) under load, and started again, empty',
    where: 'Redis',
    outcome:
      'Calls are answered without it, each charged once or refunded; sign-in answers 503 until it is back. Every payment is settled by one transfer and credited once.',
    stop: ({ infrastructure }) => process.kill(infrastructure.redis?.pid ?? 0, 'SIGKILL'),
    async start({ infrastructure, folder }) {
      const port = infrastructure.redis?.port
      if (port === undefined) return
      const again = await startRedis({ folder: join(folder, 'redis'), port })
      if (again) Object.assign(infrastructure.redis ?? {}, { pid: again.pid, stop: again.stop })
    },
  },
]

type RoundResult = {
  outage: Outage
  served: number
  rejected: number
  refunded: number
  credited: number
  transfers: number
  seconds: number
}

const outagesOn = <C extends PayingChain>(family: Family<C>): Scenario => ({
  name: `${family.prefix}outages`,
  help: `${family.helpPrefix}${HELP}`,
  rounds: 20,
  async run(stage) {
    const { closeLater, say } = stage
    const loaded = await startLoadedWorld(stage, family, { count: CUSTOMERS, credits: CREDITS })
    const { world, upstream, ledger, chain, plan, customers } = loaded
    const settlements = openSettlementQueries(world.infrastructure.postgres.facilitator)
    closeLater(() => settlements.close())
    const possible = outages.filter(({ where }) => where !== 'Redis' || world.infrastructure.redis)
    if (possible.length < outages.length)
      say('· there is no redis-server on this machine: its outage is left out')

    const played: RoundResult[] = []
    let before = { credited: 0, transfers: 0 }
    const problems = await playRounds(stage, (round) =>
      playRound(round, possible[(round - 1) % possible.length] as Outage),
    )
    return { problems, rows: possible.flatMap((outage) => rowsOf(outage, played)) }

    async function playRound(round: number, outage: Outage): Promise<string[]> {
      const problems: string[] = []
      const callers = openCallers([world.gateway.url], 2 * CUSTOMERS)
      await chain.setPace('by-interval')
      const load = startLoad({ round, customers, callers })
      await answers(load, ANSWERS)
      await until(
        () => settlements.open(),
        (open) => open > 0,
      )
      outage.stop(world)
      if (outage.where === 'Redis') {
        await answers(load, ANSWERS)
        const refused = await signInStatus()
        if (refused !== 503) problems.push(`a sign-in without Redis was answered ${refused}`)
      }
      await delay(AWAY_SECONDS * 1000)
      await outage.start(world)
      const began = performance.now()
      await until(signInStatus, (status) => status === 200, RESOLVED_WITHIN_SECONDS)
      await answers(load, ANSWERS)
      await load.stop()
      await callers.close()
      await until(unresolved, (count) => count === 0, RESOLVED_WITHIN_SECONDS)
      const seconds = (performance.now() - began) / 1000
      await chain.setPace('at-once')

      const calls = await auditCalls({ round, made: load.made, ledger, upstream, away: ALLOWED_ERRORS })
      const money = await auditMoney(ledger, await chain.paidTo(plan.pay_to))
      problems.push(...calls.problems, ...money.problems)
      problems.push(...(await auditTransactions({ chain, ledger: settlements })))
      const { served, rejected, refunded } = calls.counts
      const credited = money.credited - before.credited
      const transfers = money.transfers - before.transfers
      before = money
      played.push({ outage, served, rejected, refunded, credited, transfers, seconds })
      say(
        `· round ${round}, ${outage.where} unavailable: ${served} calls answered, ${rejected} rejected, ${refunded} refunded, ` +
          `${credited} payments credited, ${transfers} transfers; in order after ${seconds.toFixed(1)} s`,
      )
      return problems
    }

    async function signInStatus(): Promise<number> {
      const answer = await fetch(`${world.gateway.url}/auth/nonce?address=${plan.pay_to}`)
      return answer.status
    }

    async function unresolved() {
      const calls = await ledger.count("FROM usage WHERE state = 'reserved'")
      const payments = await ledger.count("FROM payments WHERE status NOT IN ('credited', 'failed')")
      return calls + payments + (await settlements.open())
    }
  },
})

export const outagesUnderLoad = outagesOn(evm)
export const cosmosOutagesUnderLoad = outagesOn(cosmos)

function rowsOf(outage: Outage, all: readonly RoundResult[]): Row[] {
  const rounds = all.filter((one) => one.outage === outage)
  if (rounds.length === 0) return []
  const sum = (of: (one: RoundResult) => number) => rounds.reduce((total, one) => total + of(one), 0)
  return [
    {
      fault: outage.fault,
      where: outage.where,
      times: rounds.length,
      payments: sum(({ credited }) => credited),
      outcome: outage.outcome,
      counted:
        `${sum(({ served }) => served)} calls answered, ${sum(({ rejected }) => rejected)} rejected, ` +
        `${sum(({ refunded }) => refunded)} refunded; ${sum(({ credited }) => credited)} payments credited, ` +
        `${sum(({ transfers }) => transfers)} transfers`,
      worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
    },
  ]
}
