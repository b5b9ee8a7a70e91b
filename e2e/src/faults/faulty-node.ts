import { startAnvil } from '@tollgate/devnet'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '../testing/paying'
import { auditPayments, auditTransactions } from './audit-payments'
import { playRounds, prepareGround, signMany } from './ground'
import { BLOCKS_BEHIND, nodeFaults, startNodeProxy, type FaultName } from './node-proxy'
import { type Row, type Scenario } from './scenario'

const PAYMENTS = 3
const AMOUNT = 10_000n
const MONEY = 1_000_000_000n
const FAULT_SECONDS = 4
const HONEST = {}

const names = Object.keys(nodeFaults) as FaultName[]

const HELP = `The facilitator's only node is faulty for ${FAULT_SECONDS} seconds, in each round in another way, in turn: it
  ${names.join(', ')}.
  ${PAYMENTS} payments are under way when it begins and ${PAYMENTS} are asked for meanwhile. No success may be told that is not on the chain;
  once the node is honest again every payment must have one end, with one transfer or none, and ${PAYMENTS} new ones must succeed.`

type Played = { name: FaultName; successes: number; failures: number; transfers: number; seconds: number }

export const faultyNode: Scenario = {
  name: 'faulty-node',
  help: HELP,
  rounds: 5 * names.length,
  async run(stage) {
    const elsewhere = await startAnvil({ chainId: 31337 })
    stage.closeLater(() => elsewhere.stop())
    let node = ''
    const proxy = await startNodeProxy(() => ({ node, elsewhere: elsewhere.rpcUrl }))
    stage.closeLater(() => proxy.close())
    const ground = await prepareGround(stage, {
      alterations: {
        environment: () => ({ SETTLE_WAIT_SECONDS: '3' }),
        network(rpcUrl) {
          node = rpcUrl
          return { rpc_urls: [proxy.url], rpc_timeout_ms: 1000 }
        },
      },
    })
    const { chain, books } = ground
    const payer = await chain.newPayer(MONEY)
    // Its money is there even for a node that shows an old chain.
    for (let block = 0; block <= BLOCKS_BEHIND; block++) await chain.mine()
    const played: Played[] = []
    const reasons = new Map<FaultName, Set<string>>()

    const problems = await playRounds(stage, async (round) => {
      const name = names[(round - 1) % names.length] ?? 'answers nothing'
      const payTo = chain.newRecipient()
      const sign = () => signMany(payer, PAYMENTS, { payTo, amount: AMOUNT })
      const [first, second, third] = [await sign(), await sign(), await sign()]
      const early = ground.settleAll(first)
      await delay(Math.random() * 100)
      proxy.become(nodeFaults[name])
      const meanwhile = ground.settleAll(second)
      await delay(FAULT_SECONDS * 1000)
      proxy.become(HONEST)
      const began = performance.now()
      const under = (await Promise.all([early, meanwhile])).flat()
      await until(books.open, (open) => open === 0)
      const seconds = (performance.now() - began) / 1000
      const after = await ground.settleAll(third)

      const { problems, successes, failures, transfers } = await auditPayments({
        ...ground,
        payTo,
        ended: [...under, ...after],
      })
      problems.push(...(await auditTransactions(ground)))
      if (!after.every(({ end }) => end.success))
        problems.push('a payment failed although the node is honest again')
      const told = reasons.get(name) ?? new Set()
      for (const { end } of under) if (!end.success) told.add(end.errorReason)
      reasons.set(name, told)
      played.push({ name, successes, failures, transfers, seconds })
      stage.say(
        `· round ${round}, the node ${name}: ${successes} successes, ${failures} failures ${[...told].join(', ')}, ${transfers} transfers; in order after ${seconds.toFixed(1)} s`,
      )
      return problems.map((problem) => `${name}: ${problem}`)
    })
    return { problems, rows: names.flatMap((name) => rowsOf(name, played, [...(reasons.get(name) ?? [])])) }
  },
}

function rowsOf(name: FaultName, all: readonly Played[], reasons: readonly string[]): Row[] {
  const rounds = all.filter((one) => one.name === name)
  if (rounds.length === 0) return []
  const sum = (of: (one: Played) => number) => rounds.reduce((total, one) => total + of(one), 0)
  const refused = reasons.length === 0 ? '' : `, or is refused (${reasons.join(', ')}) and costs nothing`
  return [
    {
      fault: `The only node ${name}`,
      where: 'RPC node',
      times: rounds.length,
      payments: rounds.length * 3 * PAYMENTS,
      outcome: `No success is told that is not on the chain; each payment waits until the node can be believed, and then succeeds${refused}.`,
      counted: `${sum(({ successes }) => successes)} successes, ${sum(({ failures }) => failures)} failures, ${sum(({ transfers }) => transfers)} transfers`,
      worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
    },
  ]
}
