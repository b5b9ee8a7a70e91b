import { startAnvil } from '@tollgate/devnet'
import { setTimeout as delay } from 'node:timers/promises'
import { until } from '@tollgate/e2e/testing/paying'
import { auditPayments, auditTransactions } from './audit-payments'
import { cosmosNodeFaults } from './cosmos/node-faults'
import { BLOCKS_BEHIND, evmNodeFaults } from './evm-node-faults'
import { cosmos, evm, type Family } from './family'
import { playRounds, prepareEnvironment } from './environment'
import { startNodeProxy, type Fault } from './node-proxy'
import { type PayingChain } from './paying-chain'
import { type Row, type Scenario, type Stage } from './scenario'

const PAYMENTS = 3
const AMOUNT = 10_000n
const FAULT_SECONDS = 1.5
const HONEST = {}

const helpOf = (
  names: readonly string[],
) => `The facilitator's only node is faulty for ${FAULT_SECONDS} seconds, in each round in the next of these ways: it
  ${names.join(', ')}.
  ${PAYMENTS} payments are in flight when it begins and ${PAYMENTS} are requested meanwhile. No success may be reported that is not on the chain,
  and none for a transaction with a false receipt until the node is honest again. Then every payment must have one outcome,
  with one transfer or none, and ${PAYMENTS} new ones must succeed.`

type RoundResult = {
  name: string
  answers: number
  receipts: number
  successes: number
  failures: number
  transfers: number
  seconds: number
}

const faultyNodeOn = <C extends PayingChain>(
  family: Family<C>,
  faults: Readonly<Record<string, Fault>>,
  startElsewhere: (stage: Stage) => Promise<string>,
): Scenario => ({
  name: `${family.prefix}faulty-node`,
  help: `${family.helpPrefix}${helpOf(Object.keys(faults))}`,
  rounds: 10 * Object.keys(faults).length,
  async run(stage) {
    const names = Object.keys(faults)
    const elsewhere = await startElsewhere(stage)
    let node = ''
    const proxy = await startNodeProxy(() => ({ node, elsewhere }))
    stage.closeLater(() => proxy.close())
    const environment = await prepareEnvironment(stage, family, {
      environment: { SETTLE_TIMEOUT_SECONDS: '3' },
      network(rpcUrl) {
        node = rpcUrl
        return { rpc_urls: [proxy.url], rpc_timeout_ms: 500 }
      },
    })
    const { chain, ledger } = environment
    const played: RoundResult[] = []
    const reasons = new Map<string, Set<string>>()

    const problems = await playRounds(stage, async (round) => {
      const name = names[(round - 1) % names.length] ?? ''
      const payTo = await chain.newRecipient()
      const sign = () => chain.newPayments(PAYMENTS, { payTo, amount: AMOUNT })
      const [first, second, third] = [await sign(), await sign(), await sign()]
      // Even a stale node shows the payers' balances.
      for (let block = 0; block <= BLOCKS_BEHIND; block++) await chain.mine()
      const early = environment.settleAll(first)
      await delay(Math.random() * 100)
      proxy.become(faults[name] ?? HONEST)
      const meanwhile = environment.settleAll(second)
      await delay(FAULT_SECONDS * 1000)
      const { answers, receipts } = proxy.become(HONEST)
      const began = performance.now()
      const under = (await Promise.all([early, meanwhile])).flat()
      await until(ledger.open, (open) => open === 0)
      const seconds = (performance.now() - began) / 1000
      const after = await environment.settleAll(third)

      const { problems, successes, failures, transfers } = await auditPayments({
        ...environment,
        payTo,
        ended: [...under, ...after],
      })
      problems.push(...(await auditTransactions(environment)))
      if (answers === 0) problems.push('the facilitator never met the fault')
      const believed = under.filter(
        ({ end, endedAt }) => end.success && endedAt < began && receipts.has(end.transaction.toLowerCase()),
      )
      if (believed.length > 0)
        problems.push(`${believed.length} successes were reported from a false receipt`)
      if (!after.every(({ end }) => end.success))
        problems.push('a payment failed although the node is honest again')
      const errorReasons = reasons.get(name) ?? new Set()
      for (const { end } of under) if (!end.success) errorReasons.add(end.errorReason)
      reasons.set(name, errorReasons)
      played.push({ name, answers, receipts: receipts.size, successes, failures, transfers, seconds })
      stage.say(
        `· round ${round}, the node ${name} (${answers} answers, receipts of ${receipts.size} transactions): ${successes} successes, ${failures} failures ${[...errorReasons].join(', ')}, ${transfers} transfers; in order after ${seconds.toFixed(1)} s`,
      )
      return problems.map((problem) => `${name}: ${problem}`)
    })
    return { problems, rows: names.flatMap((name) => rowsOf(name, played, [...(reasons.get(name) ?? [])])) }
  },
})

export const faultyNode = faultyNodeOn(evm, evmNodeFaults, async ({ closeLater }) => {
  const elsewhere = await startAnvil({ chainId: 31337 })
  closeLater(() => elsewhere.stop())
  return elsewhere.rpcUrl
})
export const cosmosFaultyNode = faultyNodeOn(cosmos, cosmosNodeFaults, () => Promise.resolve(''))

function rowsOf(name: string, all: readonly RoundResult[], reasons: readonly string[]): Row[] {
  const rounds = all.filter((one) => one.name === name)
  if (rounds.length === 0) return []
  const sum = (of: (one: RoundResult) => number) => rounds.reduce((total, one) => total + of(one), 0)
  const receipts = sum((one) => one.receipts)
  const refused = reasons.length === 0 ? '' : `, or is refused (${reasons.join(', ')}) and moves no money`
  const believed = receipts === 0 ? '' : ' No false receipt makes a success.'
  return [
    {
      fault: `The only node ${name}`,
      where: 'RPC node',
      times: rounds.length,
      payments: rounds.length * 3 * PAYMENTS,
      outcome: `Each payment succeeds by one transfer${refused}; all later ones succeed.${believed}`,
      counted:
        `${sum(({ answers }) => answers)} faulty answers${receipts === 0 ? '' : `, false receipts of ${receipts} transactions`}; ` +
        `${sum(({ successes }) => successes)} successes, ${sum(({ failures }) => failures)} failures, ${sum(({ transfers }) => transfers)} transfers`,
      worstSeconds: Math.max(...rounds.map(({ seconds }) => seconds)),
    },
  ]
}
