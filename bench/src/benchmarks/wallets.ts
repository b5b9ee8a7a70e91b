import { type Benchmark } from '../benchmark'
import { type Contender, type Load } from '../load/load'
import { openRig } from '../paid/rig'
import { interleave, medianOf } from '../rounds'

const CONNECTIONS = 64
const WALLETS = 1_000
const SECONDS = 5

export const wallets: Benchmark = {
  name: 'wallets',
  title: 'Paid calls of one wallet, and of a thousand',
  async run(context) {
    const rig = await openRig(context, { wallets: WALLETS })
    const gateway = await rig.startGateway()
    const requests = rig.requests()
    const load = (contender: Contender) => () =>
      rig.load(contender, { connections: CONNECTIONS, seconds: SECONDS, folder: context.folder })
    const contenders = {
      one: load({ ...gateway, requests: requests.slice(0, 1) }),
      many: load({ ...gateway, requests }),
    }
    for (const warmUp of Object.values(contenders)) await warmUp()
    const { one, many } = await interleave(
      context,
      contenders,
      ({ callsPerSecond }) => `${Math.round(callsPerSecond)} calls/s`,
    )
    await rig.audit()
    const [oneRate, manyRate] = [rateOf(one), rateOf(many)]
    const figures = {
      ...figuresOf('one hot wallet', one),
      ...figuresOf('1,000 wallets', many),
    }
    return {
      comparisons: [
        {
          measured: `calls per second, the lower of one hot wallet and ${WALLETS.toLocaleString('en')} wallets`,
          against: 'the higher',
          ratio: Math.min(oneRate, manyRate) / Math.max(oneRate, manyRate),
          reach: { atLeast: 0.7 },
          figures,
        },
      ],
      charts: [],
    }
  },
}

const rateOf = (loads: readonly Load[]) => medianOf(loads, ({ callsPerSecond }) => callsPerSecond)

const figuresOf = (name: string, loads: readonly Load[]) => ({
  [`${name} calls/s`]: Math.round(rateOf(loads)),
  [`${name} p99 ms`]: medianOf(loads, ({ p99Ms }) => p99Ms),
})
