import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { callNode, openPaymentChain, type PaymentChain } from '../facilitators/chain'
import { type Contender } from '../facilitators/contender'
import { sendAll } from '../facilitators/load'
import { peerVersions, startReference, startX402Rs } from '../facilitators/peers'
import { startTollgate } from '../facilitators/tollgate'
import { withCpuSeconds } from '../processes'
import { interleave, medianOf } from '../rounds'

const AT_ONCE = 1_000
const WARM_UP = 1_000
const BLOCK_SECONDS = 1
const MEASURED = '/settle, 1,000 at once, 1 s blocks, one signer'

type Sample = Awaited<ReturnType<typeof settle>>
type Names = 'tollgate' | 'reference' | 'x402-rs'

export const settleAtOnce: Benchmark = { name: 'settle', title: `${MEASURED}: payments per second`, run }

async function run(context: BenchmarkContext) {
  const { folder, closeLater, progress } = context
  const chain = await openPaymentChain(
    { folder, closeLater },
    { payers: AT_ONCE, blockSeconds: BLOCK_SECONDS },
  )
  const options = { chain, nodeUrl: chain.rpcUrl }
  const x402Rs = await startX402Rs(context, options)
  const contenders: Partial<Record<Names, Contender>> = {
    tollgate: await startTollgate(context, options),
    reference: await startReference(context, options),
    ...('missing' in x402Rs ? {} : { 'x402-rs': x402Rs }),
  }
  const runs = Object.fromEntries(
    Object.entries(contenders).map(([name, contender]) => [name, () => settle(chain, contender, AT_ONCE)]),
  ) as Record<Names, () => Promise<Sample>>
  for (const contender of Object.values(contenders)) await settle(chain, contender, WARM_UP)
  progress('warmed up')
  const samples = await interleave(context, runs, describe)
  const missing = 'missing' in x402Rs ? x402Rs.missing : undefined
  return {
    comparisons: comparisonsOf(samples, missing),
    charts: chartsOf(samples),
    versions: peerVersions(),
  }
}

/** Sends payments at once, and reads from the chain what the answers name. */
async function settle(chain: PaymentChain, contender: Contender, count: number) {
  const bodies = chain.signPayments(count)
  const { result, cpu } = await withCpuSeconds({ own: contender.pid, node: chain.pid }, () =>
    sendAll(contender, {
      path: '/settle',
      bodies,
      connections: count,
      isRight: (text) => text.includes('"success":true'),
    }),
  )
  const hashes = new Set(
    result.answers.flatMap(({ body }) => /"transaction":"(0x\w{64})"/.exec(body)?.[1] ?? []),
  )
  const receipts = await Promise.all([...hashes].map((hash) => receiptOf(chain, hash)))
  const gas = receipts.reduce((sum, { gasUsed }) => sum + Number(gasUsed), 0)
  const blocks = receipts.map(({ blockNumber }) => Number(blockNumber))
  const settled = count - result.refused.length
  return {
    perSecond: settled / result.seconds,
    seconds: result.seconds,
    gasEach: gas / settled,
    transactions: hashes.size,
    lastBlock: Math.max(...blocks) - Math.min(...blocks),
    cpuSeconds: cpu.own,
    nodeCpuSeconds: cpu.node,
    refused: result.refused.length,
    firstRefusal: result.refused[0] ?? '',
  }
}

const receiptOf = ({ rpcUrl }: PaymentChain, hash: string) =>
  callNode<{ gasUsed: string; blockNumber: string }>(rpcUrl, 'eth_getTransactionReceipt', hash)

const describe = ({
  seconds,
  gasEach,
  transactions,
  lastBlock,
  cpuSeconds,
  nodeCpuSeconds,
  refused,
  firstRefusal,
}: Sample) =>
  `${seconds.toFixed(2)} s, ${Math.round(gasEach)} gas each, ${transactions} transactions in ${lastBlock + 1} blocks, ` +
  `${cpuSeconds.toFixed(2)} CPU s, node ${nodeCpuSeconds.toFixed(2)}, ${refused} refused ${firstRefusal}`

function comparisonsOf(samples: Record<Names, Sample[]>, missing: string | undefined): Comparison[] {
  const { tollgate } = samples
  const rate = (name: Names) => medianOf(samples[name], ({ perSecond }) => perSecond)
  const own = rate('tollgate')
  const against = (name: 'reference' | 'x402-rs', label: string, atLeast: number): Comparison => {
    const shared = { measured: `${MEASURED}, payments per second`, against: label, reach: { atLeast } }
    if (!(name in samples))
      return {
        ...shared,
        ratio: null,
        figures: { 'tollgate payments/s': own },
        ...(missing ? { note: missing } : {}),
      }
    const peer = samples[name]
    const figures = {
      'tollgate payments/s': own,
      'peer payments/s': rate(name),
      'tollgate s': medianOf(tollgate, ({ seconds }) => seconds),
      'peer s': medianOf(peer, ({ seconds }) => seconds),
      'tollgate gas each': medianOf(tollgate, ({ gasEach }) => gasEach),
      'peer gas each': medianOf(peer, ({ gasEach }) => gasEach),
      'peer not settled': medianOf(peer, ({ refused }) => refused),
    }
    return { ...shared, ratio: own / rate(name), figures }
  }
  const gas = medianOf(tollgate, ({ gasEach }) => gasEach)
  const last = Math.max(...tollgate.map(({ lastBlock }) => lastBlock))
  const notSettled = Math.max(...tollgate.map(({ refused }) => refused))
  return [
    against('x402-rs', 'x402-rs', 10),
    against('reference', 'the TypeScript reference', 5),
    {
      measured: `${MEASURED}, gas each`,
      against: 'gas units',
      ratio: gas,
      reach: { atMost: 46_500 },
      figures: { transactions: medianOf(tollgate, ({ transactions }) => transactions) },
    },
    {
      measured: `${MEASURED}, last block after the first`,
      against: 'blocks',
      ratio: last,
      reach: { atMost: 2 },
      figures: { 'not settled': notSettled },
    },
  ]
}

function chartsOf(samples: Record<Names, Sample[]>) {
  const bars = (Object.entries(samples) as [Names, Sample[]][]).map(([label, of]) => ({
    label,
    value: medianOf(of, ({ perSecond }) => perSecond),
    own: label === 'tollgate',
  }))
  return [{ name: 'settle', title: MEASURED, unit: 'payments per second', bars }]
}
