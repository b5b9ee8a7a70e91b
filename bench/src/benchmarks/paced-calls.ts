import { type Benchmark } from '../benchmark'
import { addressedTo, generate, type GeneratorResult } from '../load/generate'
import { type Contender } from '../load/load'
import { openBareProxy } from '../paid/contenders'
import { openRig } from '../paid/rig'
import { interleave, medianOf } from '../rounds'

const CONNECTIONS = 64
const WALLETS = 64
const SECONDS = 6
const FULL_LOAD_SECONDS = 5
const WARM_UP_SECONDS = 3

export const pacedCalls: Benchmark = {
  name: 'paced-calls',
  title: 'Latency at half of the full load, paced',
  async run(context) {
    const { folder } = context
    const rig = await openRig(context, { wallets: WALLETS })
    const tollgate: Contender = { ...(await rig.startGateway()), requests: rig.requests() }
    const bare = await openBareProxy(context, rig)

    const full = { connections: CONNECTIONS, seconds: FULL_LOAD_SECONDS, folder }
    await rig.load(tollgate, { ...full, seconds: WARM_UP_SECONDS })
    const ratePerSecond = Math.round((await rig.load(tollgate, full)).callsPerSecond / 2)
    context.progress(`${ratePerSecond} calls/s`)
    const paced =
      ({ name, url, requests }: Contender, send: typeof rig.generate) =>
      async (seconds = SECONDS) => {
        const plan = {
          requests: addressedTo(url, requests),
          connections: CONNECTIONS,
          until: { seconds },
          ratePerSecond,
        }
        const result = await send(plan)
        const failed = result.answers - (result.statuses['200'] ?? 0)
        if (failed > 0) throw new Error(`${name}: ${JSON.stringify(result.statuses)}`)
        return result
      }
    const contenders = {
      tollgate: paced(tollgate, rig.generate),
      bare: paced(bare, (plan) => generate(folder, plan)),
    }
    for (const warmUp of Object.values(contenders)) await warmUp(WARM_UP_SECONDS)
    const samples = await interleave(
      context,
      { tollgate: () => contenders.tollgate(), bare: () => contenders.bare() },
      ({ answers, seconds, latencyMs }) =>
        `${Math.round(answers / seconds)} calls/s, p50 ${latencyMs.p50.toFixed(1)} ms, p99 ${latencyMs.p99.toFixed(1)} ms`,
    )
    await rig.audit()
    return {
      comparisons: [
        {
          measured: 'paid POST /rpc at half of the full load, paced, p99',
          against: 'bare Express and undici proxy at the same pace',
          ratio: p99Of(samples.tollgate) / p99Of(samples.bare),
          reach: { atMost: 2 },
          figures: {
            'pace calls/s': ratePerSecond,
            ...figuresOf('tollgate', samples.tollgate),
            ...figuresOf('bare proxy', samples.bare),
          },
        },
      ],
      charts: [],
    }
  },
}

const p99Of = (results: readonly GeneratorResult[]) => medianOf(results, ({ latencyMs }) => latencyMs.p99)

const figuresOf = (name: string, results: readonly GeneratorResult[]) => ({
  [`${name} paced p50 ms`]: rounded(medianOf(results, ({ latencyMs }) => latencyMs.p50)),
  [`${name} paced p99 ms`]: rounded(p99Of(results)),
})

const rounded = (value: number) => Number(value.toPrecision(3))
