import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { openPaymentChain, type PaymentChain } from '../facilitators/chain'
import { type Contender } from '../facilitators/contender'
import { sendAll } from '../facilitators/load'
import { peerVersions, startReference, startX402Rs } from '../facilitators/peers'
import { startNodeCounter } from '../facilitators/node-counter'
import { startTollgate } from '../facilitators/tollgate'
import { withCpuSeconds } from '../processes'
import { interleave, medianOf } from '../rounds'
import { inScope } from '../scope'

const CONNECTIONS = 64
const MEASURED = '/verify of EIP-3009 payments, cache off, 64 connections'
/** The reference is ten times as slow as the others. */
const REQUESTS = { tollgate: 6_000, 'x402-rs': 6_000, reference: 1_000 }
const COUNTED = 640

type Name = keyof typeof REQUESTS
type Sample = Awaited<ReturnType<typeof verify>>

export const verifyUncached: Benchmark = {
  name: 'verify',
  title: `${MEASURED}: payments per CPU second`,
  run,
}

/** The facilitators that are here, each on the node at `nodeUrl`. */
async function startAll(context: BenchmarkContext, options: { chain: PaymentChain; nodeUrl: string }) {
  const x402Rs = await startX402Rs(context, options)
  const environment = { VERIFICATION_CACHE_TTL_SECONDS: '0' }
  const contenders: Partial<Record<Name, Contender>> = {
    tollgate: await startTollgate(context, options, environment),
    ...('missing' in x402Rs ? {} : { 'x402-rs': x402Rs }),
    reference: await startReference(context, options),
  }
  return { contenders, missing: 'missing' in x402Rs ? x402Rs.missing : undefined }
}

async function run(context: BenchmarkContext) {
  const chain = await openPaymentChain(context, { payers: 20 })
  const roundTrips = await inScope(context, 'counted', (scope) => countRoundTrips(scope, chain))
  const { contenders, missing } = await startAll(context, { chain, nodeUrl: chain.rpcUrl })
  const runs: Partial<Record<Name, () => Promise<Sample>>> = {}
  for (const [name, contender] of entriesOf(contenders)) {
    await verify(chain, contender, REQUESTS[name] / 2)
    runs[name] = () => verify(chain, contender, REQUESTS[name])
  }
  context.progress('warmed up')
  const samples = await interleave(context, runs as Record<Name, () => Promise<Sample>>, describe)
  const bars = entriesOf(samples).map(([label, of]) => ({
    label,
    value: medianOf(of, ({ perCpuSecond }) => perCpuSecond),
    own: label === 'tollgate',
  }))
  return {
    comparisons: comparisonsOf(samples, { missing, roundTrips }),
    charts: [{ name: 'verify', title: MEASURED, unit: 'payments per CPU second', bars }],
    versions: peerVersions(),
  }
}

async function verify(chain: PaymentChain, contender: Contender, count: number) {
  const bodies = chain.signPayments(count)
  const { result, cpu } = await withCpuSeconds({ own: contender.pid }, () =>
    sendAll(contender, {
      path: '/verify',
      bodies,
      connections: CONNECTIONS,
      isRight: (text) => text.includes('"isValid":true'),
    }),
  )
  if (result.refused[0] !== undefined) throw new Error(`A payment was not verified: ${result.refused[0]}`)
  return { perSecond: count / result.seconds, perCpuSecond: count / cpu.own }
}

/** HTTP requests to the node for each payment. */
async function countRoundTrips(context: BenchmarkContext, chain: PaymentChain) {
  const counter = await startNodeCounter(context, chain.rpcUrl)
  const { contenders } = await startAll(context, { chain, nodeUrl: counter.url })
  const counted: Partial<Record<Name, number>> = {}
  for (const [name, contender] of entriesOf(contenders)) {
    await verify(chain, contender, CONNECTIONS)
    const before = counter.counts().roundTrips
    await verify(chain, contender, COUNTED)
    counted[name] = (counter.counts().roundTrips - before) / COUNTED
  }
  return counted
}

const describe = ({ perSecond, perCpuSecond }: Sample) =>
  `${Math.round(perCpuSecond)} per CPU second, ${Math.round(perSecond)}/s`

const entriesOf = <Value>(record: Partial<Record<Name, Value>>) => Object.entries(record) as [Name, Value][]

function comparisonsOf(
  samples: Record<Name, Sample[]>,
  { missing, roundTrips }: { missing: string | undefined; roundTrips: Partial<Record<Name, number>> },
): Comparison[] {
  const perCpuSecond = (name: Name) => medianOf(samples[name], (sample) => sample.perCpuSecond)
  const figuresOf = (name: Name) => ({
    [`${name} per CPU second`]: perCpuSecond(name),
    [`${name} per second`]: medianOf(samples[name], ({ perSecond }) => perSecond),
    [`${name} node round trips`]: roundTrips[name] ?? 0,
  })
  const against = (name: Name, label: string, atLeast: number): Comparison => {
    const shared = { measured: `${MEASURED}, per CPU second`, against: label, reach: { atLeast } }
    if (!(name in samples))
      return { ...shared, ratio: null, figures: figuresOf('tollgate'), ...(missing ? { note: missing } : {}) }
    const ratio = perCpuSecond('tollgate') / perCpuSecond(name)
    return { ...shared, ratio, figures: { ...figuresOf('tollgate'), ...figuresOf(name) } }
  }
  return [against('x402-rs', 'x402-rs', 1), against('reference', 'the TypeScript reference', 10)]
}
