import { type Benchmark, type Comparison } from '../benchmark'
import { createFacilitatorStores, startFacilitator } from '../facilitator-service'
import { openAccounts } from '../gateway/accounts'
import { startGateway } from '../gateway/gateway'
import { type NodeServer } from '../node-server'
import { interleave, medianOf } from '../rounds'
import { openStores } from '../stores'

/** In seconds, from the launch of the process to the first 200 of `GET /ready`, with 20 ms between requests. */
async function startSample(start: () => Promise<NodeServer>): Promise<number> {
  const startedAt = performance.now()
  const server = await start()
  const seconds = (performance.now() - startedAt) / 1000
  await server.stop()
  return seconds
}

const compare = (service: string, samples: readonly number[]): Comparison => {
  const seconds = medianOf(samples, (sample) => sample)
  return {
    measured: `${service}, warm start to ready, seconds`,
    against: 'a second and a half',
    ratio: seconds,
    reach: { below: 1.5 },
    figures: { [`${service} start s`]: seconds, [`${service} slowest start s`]: Math.max(...samples) },
    note: 'seconds, not a ratio',
  }
}

export const start: Benchmark = {
  name: 'start',
  title: 'Start to ready',
  async run(context) {
    const stores = await openStores(context)
    const { databaseUrl } = await openAccounts(context, stores)
    const gatewayStores = { databaseUrl, redisUrl: stores.redis.url }
    const environment = await createFacilitatorStores(context, stores)
    const run = {
      gateway: () => startSample(() => startGateway(context, gatewayStores)),
      facilitator: () => startSample(() => startFacilitator(context, environment)),
    }
    // The first start reads the files from the disk.
    await run.gateway()
    await run.facilitator()
    const samples = await interleave(context, run, (seconds) => `${seconds.toFixed(2)} s`)
    const comparisons = [compare('gateway', samples.gateway), compare('facilitator', samples.facilitator)]
    const bars = comparisons.map(({ measured, ratio }) => ({
      label: measured.replace(/,.*/, ''),
      value: ratio ?? 0,
      own: true,
    }))
    return { comparisons, charts: [{ name: 'seconds', title: 'Start to ready', unit: 'seconds', bars }] }
  },
}
