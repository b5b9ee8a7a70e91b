import { setTimeout as delay } from 'node:timers/promises'
import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { callNode, openPaymentChain, type PaymentChain } from '../facilitators/chain'
import { type Contender } from '../facilitators/contender'
import { sendAll } from '../facilitators/load'
import { startTollgate } from '../facilitators/tollgate'
import { median } from '../rounds'
import { inScope } from '../scope'

const EACH_ROUND = 5
const BLOCK_SECONDS = 2
const MAX_ABOVE_MS = 60
const WARM_UP = 2
const IDLE_MS = 1_500
const BLOCK_POLL_MS = 2

export const settleLatency: Benchmark = {
  name: 'settle-latency',
  title: 'One /settle of an idle facilitator: the time above the block time',
  run,
}

async function run(context: BenchmarkContext) {
  const automine = await inScope(context, 'automine', (scope) => measure(scope, undefined))
  const interval = await inScope(context, 'interval', (scope) => measure(scope, BLOCK_SECONDS))
  const comparisons = [
    comparisonOf('automine', automine, 0),
    comparisonOf(`${BLOCK_SECONDS} s blocks`, interval, BLOCK_SECONDS * 1_000),
  ]
  const bars = comparisons.map(({ measured, ratio }) => ({ label: measured, value: ratio ?? 0, own: true }))
  const chart = { name: 'settle-latency', title: settleLatency.title, unit: 'ms above the block time', bars }
  return { comparisons, charts: [chart] }
}

/** Milliseconds from the request to its answer. With a block time, the request follows a block at once. */
async function measure(context: BenchmarkContext, blockSeconds: number | undefined): Promise<number[]> {
  const chain = await openPaymentChain(context, {
    payers: 1,
    ...(blockSeconds === undefined ? {} : { blockSeconds }),
  })
  const contender = await startTollgate(context, { chain, nodeUrl: chain.rpcUrl })
  const times: number[] = []
  for (let count = -WARM_UP; count < context.rounds * EACH_ROUND; count++) {
    // Not in step with the blocks of the chain.
    await delay(IDLE_MS * (1 + Math.random()))
    const ms = await settleOne(chain, contender, blockSeconds)
    if (count >= 0) times.push(ms)
  }
  return times
}

async function settleOne(chain: PaymentChain, contender: Contender, blockSeconds: number | undefined) {
  const bodies = chain.signPayments(1)
  if (blockSeconds !== undefined) await untilNextBlock(chain)
  const sentAt = performance.now()
  const isRight = (text: string) => text.includes('"success":true')
  const { refused } = await sendAll(contender, { path: '/settle', bodies, connections: 1, isRight })
  if (refused[0] !== undefined) throw new Error(`A payment was not settled: ${refused[0]}`)
  return performance.now() - sentAt
}

async function untilNextBlock({ rpcUrl }: PaymentChain): Promise<void> {
  const height = () => callNode<string>(rpcUrl, 'eth_blockNumber')
  const before = await height()
  while ((await height()) === before) await delay(BLOCK_POLL_MS)
}

function comparisonOf(chain: string, times: readonly number[], blockMs: number): Comparison {
  const slowest = Math.max(...times)
  return {
    measured: `one /settle, idle, ${chain}, milliseconds above the block time`,
    against: 'milliseconds',
    ratio: median(times) - blockMs,
    reach: { atMost: MAX_ABOVE_MS },
    figures: { 'median ms': median(times), 'slowest ms': slowest, settlements: times.length },
  }
}
