import { type Benchmark, type BenchmarkContext } from '../../benchmark'
import { type Contender, type Load, loadByWrk } from '../../load/load'
import { openBareProxy, openConventionalStack, openErpc, openNginx } from '../../paid/contenders'
import { openRig, type Rig } from '../../paid/rig'
import { versionOf } from '../../programs'
import { interleave } from '../../rounds'
import { compareCpu, compareRates, cpuChart, rateChart } from './comparisons'

const CONNECTIONS = 64
const WALLETS = 64
const SECONDS = 5

export const paidCalls: Benchmark = {
  name: 'paid-calls',
  title: 'Paid calls over 64 connections',
  async run(context) {
    const rig = await openRig(context, { wallets: WALLETS })
    const { loads, missing } = await openLoads(context, rig)
    for (const warmUp of Object.values(loads)) await warmUp()
    const { tollgate = [], ...peers } = await interleave<string, Load>(
      context,
      loads,
      ({ callsPerSecond, cpuSeconds }) =>
        `${Math.round(callsPerSecond)} calls/s, ${cpuSeconds.toFixed(3)} CPU s per 1,000`,
    )
    const { answers, charged } = await rig.audit()
    context.progress(`${answers} paid calls were answered, ${charged} charged, and all accounts add up`)

    const samples = { tollgate, ...peers }
    const eRPC = missing === undefined ? versionOf('erpc', '--version') : undefined
    return {
      comparisons: [...compareRates(samples, missing), compareCpu(samples, missing)],
      charts: [rateChart(samples), cpuChart(samples)],
      ...(eRPC === undefined ? {} : { versions: { eRPC } }),
    }
  },
}

/** Of the gateway and its peers. `missing` says why there is no eRPC. */
async function openLoads(context: BenchmarkContext, rig: Rig) {
  const options = { connections: CONNECTIONS, seconds: SECONDS, folder: context.folder }
  const others = { postgres: rig.postgres.pid }
  const load = (contender: Contender) => () => loadByWrk(contender, { ...options, others })
  const gateway = { ...(await rig.startGateway()), requests: rig.requests() }
  const loads: Record<string, () => Promise<Load>> = {
    tollgate: () => rig.load(gateway, options),
    bare: load(await openBareProxy(context, rig)),
    nginx: load(await openNginx(context, rig)),
    conventional: load(await openConventionalStack(context, rig)),
  }
  const erpc = await openErpc(context, rig)
  if ('missing' in erpc) return { loads, missing: erpc.missing }
  return { loads: { ...loads, erpc: load(erpc) }, missing: undefined }
}
