import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { LONG_CHAIN, LONG_PATH } from '../gateway/chains'
import { addressedTo } from '../load/generate'
import { type Contender, type Load, loadByWrk, type LoadOptions } from '../load/load'
import { rpcRequest } from '../paid/calls'
import { openRig, type Rig } from '../paid/rig'
import { startNginxProxy } from '../peers/nginx'
import { peakResidentBytes } from '../processes'
import { interleave, medianOf } from '../rounds'

const WALLETS = 1_000
const SECONDS = 4
const BATCH = 50
const OVERLOAD_CONNECTIONS = 6_000
const MIB = 1_048_576
/** Of the gateway's pod in k8s/. */
const MEMORY_LIMIT_MIB = 512

export const connections: Benchmark = {
  name: 'connections',
  title: 'Many connections, batches and long answers',
  async run(context) {
    const rig = await openRig(context, { wallets: WALLETS })
    const gateway = await rig.startGateway()
    const tollgate: Contender = { ...gateway, requests: rig.requests() }
    const loads = await loadAll(context, rig, tollgate)
    const overload = await overloadGateway(context, rig, tollgate)
    await rig.audit()
    const peak = Math.max(...gateway.pids.map(peakResidentBytes)) / MIB
    return {
      comparisons: [
        compareRates('256 connections', loads.many, loads.few),
        compareRates('1,000 connections', loads.most, loads.few),
        compareRates(`batches of ${BATCH}, 64 connections`, loads.batches, loads.few, BATCH),
        compareBytes(loads.long, loads.nginx),
        compareOverload(overload),
        {
          measured: 'peak resident memory of the gateway process after all of these loads',
          against: `its memory limit of ${MEMORY_LIMIT_MIB} MiB`,
          ratio: peak / MEMORY_LIMIT_MIB,
          reach: { below: 1 },
          figures: { 'gateway peak resident MiB': Math.round(peak) },
        },
      ],
      charts: [],
    }
  },
}

async function loadAll(context: BenchmarkContext, rig: Rig, tollgate: Contender) {
  const { folder } = context
  const nginx = await startNginxProxy(context, [rig.upstream.url])
  const longFromNginx = { ...nginx, requests: [{ ...rpcRequest, path: LONG_PATH }] }
  const options = (count: number): LoadOptions => ({
    connections: count,
    seconds: SECONDS,
    folder,
    mayFail: true,
  })
  const load = (count: number, requests = tollgate.requests) => {
    const contender = { ...tollgate, requests }
    return (): Promise<Load> => rig.load(contender, options(count))
  }
  const contenders = {
    few: load(64),
    many: load(256),
    most: load(1_000),
    batches: load(64, rig.requests({ batch: BATCH })),
    long: load(64, rig.requests({ chain: LONG_CHAIN })),
    nginx: () => loadByWrk(longFromNginx, options(64)),
  }
  for (const warmUp of [contenders.few, contenders.most, contenders.batches, contenders.long]) await warmUp()
  return interleave(
    context,
    contenders,
    ({ callsPerSecond, failedAnswers, bytesPerSecond }) =>
      `${Math.round(callsPerSecond)} answers/s, ${failedAnswers} failed, ${Math.round(bytesPerSecond / 1e6)} MB/s`,
  )
}

const rateOf = (loads: readonly Load[]) => medianOf(loads, ({ callsPerSecond }) => callsPerSecond)
const failuresOf = (loads: readonly Load[]) =>
  loads.reduce((sum, { failedAnswers }) => sum + failedAnswers, 0)

/** `size`: the calls of one request. */
function compareRates(name: string, loads: readonly Load[], few: readonly Load[], size = 1): Comparison {
  return {
    measured: `paid POST /rpc, ${name}, calls per second`,
    against: 'single calls over 64 connections',
    ratio: (size * rateOf(loads)) / rateOf(few),
    reach: { atLeast: 0.8 },
    figures: {
      'tollgate calls/s over 64 connections': Math.round(rateOf(few)),
      [`tollgate calls/s, ${name}`]: Math.round(size * rateOf(loads)),
      [`tollgate p99 ms, ${name}`]: medianOf(loads, ({ p99Ms }) => p99Ms),
      [`tollgate answers from 400, ${name}`]: failuresOf(loads),
    },
  }
}

function compareBytes(long: readonly Load[], nginx: readonly Load[]): Comparison {
  const bytesOf = (loads: readonly Load[]) => medianOf(loads, ({ bytesPerSecond }) => bytesPerSecond)
  return {
    measured: 'paid POST /rpc with answers of 1 MB, 64 connections, bytes per second',
    against: 'nginx',
    ratio: bytesOf(long) / bytesOf(nginx),
    reach: { atLeast: 0.5 },
    figures: {
      'tollgate MB/s of answers of 1 MB': Math.round(bytesOf(long) / 1e6),
      'nginx MB/s of answers of 1 MB': Math.round(bytesOf(nginx) / 1e6),
      'tollgate answers from 400, answers of 1 MB': failuresOf(long),
    },
  }
}

type Overload = { answered: number; refused: number; others: number; slowestMs: number }

/** More calls at once than the queues take. A call without an answer after 15 s counts as another outcome. */
async function overloadGateway(
  { progress }: BenchmarkContext,
  rig: Rig,
  { url, requests }: Contender,
): Promise<Overload> {
  const plan = {
    requests: addressedTo(url, requests),
    connections: OVERLOAD_CONNECTIONS,
    until: { seconds: SECONDS },
  }
  const { answers, statuses, latencyMs } = await rig.generate(plan)
  progress(`${OVERLOAD_CONNECTIONS} connections: ${JSON.stringify(statuses)}`)
  const [answered, refused] = [statuses['200'] ?? 0, statuses['503'] ?? 0]
  return { answered, refused, others: answers - answered - refused, slowestMs: latencyMs.max }
}

function compareOverload({ answered, refused, others, slowestMs }: Overload): Comparison {
  const name = `${OVERLOAD_CONNECTIONS.toLocaleString('en')} connections`
  return {
    measured: `calls over ${name} answered with 200 or 503`,
    against: 'all of them',
    ratio: (answered + refused) / (answered + refused + others),
    reach: { atLeast: 1 },
    figures: {
      [`calls answered 200, ${name}`]: answered,
      [`calls answered 503, ${name}`]: refused,
      [`calls with another outcome, ${name}`]: others,
      [`slowest call ms, ${name}`]: Math.round(slowestMs),
    },
  }
}
