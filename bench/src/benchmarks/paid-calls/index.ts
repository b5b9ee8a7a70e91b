import { type Benchmark } from '../../benchmark'
import { type Contender, loadByWrk } from '../../load/load'
import { openBareProxy, openConventionalStack, openErpc, openNginx } from '../../paid/contenders'
import { openRig, type PaidLoad } from '../../paid/rig'
import { interleave } from '../../rounds'
import { versionOf } from '../../programs'
import { cpuChart, compareCpu, compareRates, rateChart, type Samples } from './comparisons'

const CONNECTIONS = 64
const WALLETS = 64
const SECONDS = 5

export const paidCalls: Benchmark = {
  name: 'paid-calls',
  title: 'Paid calls over 64 connections',
  async run(context) {
    const rig = await openRig(context, { wallets: WALLETS })
    const tollgate = { ...(await rig.startGateway()), requests: rig.requests() }
    const bare = await openBareProxy(context, rig)
    const nginx = await openNginx(context, rig)
    const conventional = await openConventionalStack(context, rig)
    const erpc = await openErpc(context, rig)

    const { folder } = context
    const options = { connections: CONNECTIONS, seconds: SECONDS, folder }
    const others = { postgres: rig.postgres.pid }
    const load = (contender: Contender) => async () => ({
      ...(await loadByWrk(contender, { ...options, others })),
      walBytesPerCall: 0,
      redisCommandsPerCall: 0,
    })
    const contenders: Record<string, () => Promise<PaidLoad>> = {
      tollgate: () => rig.load(tollgate, options),
      bare: load(bare),
      nginx: load(nginx),
      conventional: load(conventional),
      ...('missing' in erpc ? {} : { erpc: load(erpc) }),
    }
    for (const warmUp of Object.values(contenders)) await warmUp()
    const { tollgate: paid = [], ...peers } = await interleave<string, PaidLoad>(
      context,
      contenders,
      ({ callsPerSecond, cpuSeconds }) =>
        `${Math.round(callsPerSecond)} calls/s, ${cpuSeconds.toFixed(3)} CPU s per 1,000`,
    )
    const samples: Samples = { tollgate: paid, ...peers }
    const { answers, charged } = await rig.audit()
    context.progress(`${answers} paid calls were answered, ${charged} charged, and all accounts add up`)

    const missing = 'missing' in erpc ? erpc.missing : undefined
    const erpcVersion = missing === undefined ? versionOf('erpc', '--version') : undefined
    return {
      comparisons: [...compareRates(samples, missing), compareCpu(samples, missing)],
      charts: [rateChart(samples), cpuChart(samples)],
      ...(erpcVersion === undefined ? {} : { versions: { eRPC: erpcVersion } }),
    }
  },
}
