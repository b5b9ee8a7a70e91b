import { setTimeout as delay } from 'node:timers/promises'
import { openCallers } from '@tollgate/e2e/testing/callers'
import { until } from '@tollgate/e2e/testing/paying'
import { auditCalls, auditMoney } from './audit'
import { cosmos, evm, type Family } from './family'
import { startLoad, type Load } from './load'
import { answers, startLoadedWorld } from './loaded-world'
import { type PayingChain } from './paying-chain'
import { type Row, type Scenario } from './scenario'
import { createTable, type Column } from './table'

const CUSTOMERS = 24
const CREDITS = 25
const RESOLVED_WITHIN_SECONDS = 60
const ANSWERS = 400
const LONGEST_WAIT_MS = 100

const HELP = `kill -9 of the gateway under load. Many wallets call and buy repeatedly; some calls are answered late, some by no
  upstream. In odd rounds the gateway is alone, in even rounds a second one survives; in every third round blocks are rare,
  so that payments stay pending. The killed gateway is restarted. Each round prints
    calls, pays        calls and payments in flight at the kill
    200 500 402 503    answers: served, no upstream, unpaid, payment pending;  cut: sent, never answered
    done, refunded     usage rows
    free               answered, and refunded because the kill preceded the write of \`done\`
    unheard            answered by the upstream, cut off before the caller had it; refunded
    credited, chain    payments with their grant, and transfers on the chain, of all rounds so far
    resolved           seconds from the kill until no call is reserved and no payment open; at most 60
    broken             violated invariants`

const gatewayKilledOn = <C extends PayingChain>(family: Family<C>): Scenario => ({
  name: `${family.prefix}gateway-killed`,
  help: `${family.helpPrefix}${HELP}`,
  rounds: 20,
  async run({ rounds, signal, closeLater, say }) {
    const loaded = await startLoadedWorld({ signal, closeLater }, family, {
      count: CUSTOMERS,
      credits: CREDITS,
    })
    const { world, upstream, ledger, chain, plan, customers } = loaded
    say(`· ${CUSTOMERS} wallets with money and a session`)

    const table = createTable(say)
    const problems: string[] = []
    for (let round = 1; round <= rounds; round++) {
      signal.throwIfAborted()
      const found = await playRound(round)
      for (const problem of found) say(`! round ${round}: ${problem}`)
      problems.push(...found.map((problem) => `round ${round}: ${problem}`))
    }
    table.totals()
    const sum = (name: Column) => table.rows.reduce((all, row) => all + row[name], 0)
    const row: Row = {
      fault: 'kill -9 under load',
      where: 'gateway',
      times: table.rows.length,
      payments: table.rows.at(-1)?.credited ?? 0,
      outcome:
        'Every answered call is charged once or refunded; none is forwarded twice or unpaid. Every payment is settled by one transfer and credited once.',
      counted: `${sum('served')} calls answered, ${sum('refunded')} refunded, ${sum('servedFree')} of them answered nevertheless; ${table.rows.at(-1)?.transfers ?? 0} transfers`,
      worstSeconds: Math.max(...table.rows.map(({ resolved }) => resolved)),
    }
    return { problems, rows: [row] }

    async function playRound(round: number): Promise<string[]> {
      const survivor = round % 2 === 0 ? await world.addGateway() : undefined
      const urls = [world.gateway.url, ...(survivor ? [survivor.url] : [])]
      const callers = openCallers(urls, 2 * CUSTOMERS)
      await chain.setPace(round % 3 === 0 ? 'by-interval' : 'at-once')
      const load = startLoad({ round, customers, callers })
      await answers(load, ANSWERS)
      await paymentsUnderWay(load)

      const pid = world.gateway.pid()
      const atKill = { ...load.underWay }
      process.kill(pid, 'SIGKILL')
      const killedAt = performance.now()
      const seconds = () => (performance.now() - killedAt) / 1000
      say(`· round ${round} of ${rounds}: killed; ${await leftBehind()}`)
      await until(
        () => Promise.resolve(world.gateway.pid()),
        (now) => now !== pid,
      )
      await answers(load, ANSWERS)
      await load.stop()
      await callers.close()
      await chain.setPace('at-once')

      const problems: string[] = []
      const resolved = await until(
        unresolved,
        (count) => count === 0,
        RESOLVED_WITHIN_SECONDS - seconds(),
      ).then(
        seconds,
        (error: unknown) => (problems.push(`not resolved within a minute: ${String(error)}`), Infinity),
      )
      await survivor?.stop()
      if (survivor && (await unresolved()) > 0)
        problems.push('a gateway left calls behind that was asked to stop')

      const calls = await auditCalls({ round, made: load.made, ledger, upstream })
      const money = await auditMoney(ledger, await chain.paidTo(plan.pay_to))
      problems.push(...calls.problems, ...money.problems)
      table.row({
        round,
        gateways: urls.length,
        ...atKill,
        ...calls.counts,
        ...money,
        resolved,
        problems: problems.length,
      })
      return problems
    }

    async function leftBehind() {
      const reserved = await ledger.count("FROM usage WHERE state = 'reserved'")
      const open = await ledger.rows<{ status: string; count: bigint }>(
        "SELECT status, count(*) FROM payments WHERE status NOT IN ('credited', 'failed') GROUP BY status",
      )
      return [
        `${reserved} calls reserved`,
        ...open.map(({ status, count }) => `${count} payments ${status}`),
      ].join(', ')
    }

    async function unresolved() {
      const calls = await ledger.count("FROM usage WHERE state = 'reserved'")
      return calls + (await ledger.count("FROM payments WHERE status NOT IN ('credited', 'failed')"))
    }
  },
})

export const gatewayKilled = gatewayKilledOn(evm)
export const cosmosGatewayKilled = gatewayKilledOn(cosmos)

/** Resolves at a random moment while payments are in flight. */
async function paymentsUnderWay(load: Load) {
  for (let tries = 0; tries < 1_000; tries++) {
    await delay(Math.random() * LONGEST_WAIT_MS)
    if (load.underWay.payments > 0) return
  }
  throw new Error('No payment was in flight')
}
