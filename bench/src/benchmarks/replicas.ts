import { type Benchmark, type BenchmarkContext } from '../benchmark'
import { type Contender, type Load } from '../load/load'
import { openRig, type Rig } from '../paid/rig'
import { startNginxProxy } from '../peers/nginx'
import { interleave, medianOf } from '../rounds'

const CONNECTIONS = 64
const WALLETS = 64
const SECONDS = 5

export const replicas: Benchmark = {
  name: 'replicas',
  title: 'One, two and four gateway processes behind nginx',
  async run(context) {
    const rig = await openRig(context, { wallets: WALLETS })
    const contenders = {
      one: await behindNginx(context, rig, 1),
      two: await behindNginx(context, rig, 2),
      four: await behindNginx(context, rig, 4),
    }
    for (const warmUp of Object.values(contenders)) await warmUp()
    const { one, two, four } = await interleave(
      context,
      contenders,
      ({ callsPerSecond, cpuSeconds }) =>
        `${Math.round(callsPerSecond)} calls/s, ${cpuSeconds.toFixed(3)} CPU s of the gateways per 1,000`,
    )
    await rig.audit()
    const figures = {
      ...figuresOf('one gateway', one),
      ...figuresOf('two gateways', two),
      ...figuresOf('four gateways', four),
      'other CPU s per 1,000 calls': rounded(medianOf(one, otherCpu)),
    }
    const compare = (name: string, loads: readonly Load[], atLeast: number) => ({
      measured: `paid POST /rpc behind nginx, ${name}, calls per second`,
      against: 'one gateway',
      ratio: rateOf(loads) / rateOf(one),
      reach: { atLeast },
      figures,
    })
    return {
      comparisons: [
        compare('two gateways', two, 1.6),
        { ...compare('four gateways', four, 1), note: limitOf(four) },
      ],
      charts: [
        {
          name: 'rate',
          title: 'Paid calls of gateway processes behind nginx',
          unit: 'calls per second',
          bars: Object.entries({ 'one gateway': one, 'two gateways': two, 'four gateways': four }).map(
            ([label, loads]) => ({ label, value: Math.round(rateOf(loads)), own: true }),
          ),
        },
      ],
    }
  },
}

/** A load of `count` new gateway processes behind an nginx of their own. */
async function behindNginx(context: BenchmarkContext, rig: Rig, count: number) {
  const gateways = []
  for (let index = 1; index <= count; index++)
    gateways.push(await rig.startGateway({ name: `gateway-${index}-of-${count}` }))
  const urls = gateways.map(({ url }) => url)
  const balancer = await startNginxProxy(context, urls, `nginx-for-${count}`)
  const pids = gateways.flatMap((gateway) => gateway.pids)
  const contender: Contender = {
    name: `${count} gateways`,
    url: balancer.url,
    pids,
    requests: rig.requests(),
  }
  return () => rig.load(contender, { connections: CONNECTIONS, seconds: SECONDS, folder: context.folder })
}

const rateOf = (loads: readonly Load[]) => medianOf(loads, ({ callsPerSecond }) => callsPerSecond)

/** Of the load generator, the upstream, nginx and the idle gateways. */
const otherCpu = ({ cpuSeconds, others: { everything = 0, postgres = 0, redis = 0 } }: Load) =>
  everything - cpuSeconds - postgres - redis

const figuresOf = (name: string, loads: readonly Load[]) => ({
  [`${name} calls/s`]: Math.round(rateOf(loads)),
  [`${name} p99 ms`]: medianOf(loads, ({ p99Ms }) => p99Ms),
  [`${name} CPU s per 1,000 calls`]: rounded(medianOf(loads, ({ cpuSeconds }) => cpuSeconds)),
})

/** What four processes could reach with the cores of this machine. */
function limitOf(loads: readonly Load[]): string {
  const everything = medianOf(loads, ({ others }) => others['everything'] ?? 0)
  const busy = (everything * rateOf(loads)) / 1000
  return `all processes together, with the load generator, used ${busy.toFixed(1)} cores`
}

const rounded = (value: number) => Number(value.toPrecision(4))
