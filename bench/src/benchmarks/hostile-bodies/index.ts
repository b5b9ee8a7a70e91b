import { type Benchmark, type BenchmarkContext } from '../../benchmark'
import { inScope } from '../../scope'
import { compareCallers, compareCosts, compareFacilitator, compareMemory, costChart } from './comparisons'
import { costOfBodies } from './event-loop'
import { attackFacilitator } from './facilitator'
import { type Gateway, openGateway } from './gateway'
import { burst, stalledUploads, unreadAnswers } from './memory'
import { measurePayingCallers } from './paying-callers'

/** The least time of a body counts, so it needs several. */
const SENT_PER_ROUND = 4
const WIDE = '1000000'
const wideLimits = { RATE_LIMIT_RPC_PER_MINUTE: WIDE, RATE_LIMIT_UPLOAD_MIB_PER_MINUTE: WIDE }

export const hostileBodies: Benchmark = {
  name: 'hostile-bodies',
  title: 'Memory and latency under hostile bodies',
  async run(context) {
    const costs = await withGateway(context, 'event loop', wideLimits, (gateway) =>
      costOfBodies(gateway, SENT_PER_ROUND * context.rounds),
    )
    const wide = await withGateway(context, 'paying callers with wide limits', wideLimits, (gateway) =>
      measurePayingCallers(gateway, context.rounds),
    )
    const usual = await withGateway(context, 'paying callers with the default limits', {}, (gateway) =>
      measurePayingCallers(gateway, context.rounds),
    )
    const memory = await withGateway(context, 'memory', wideLimits, async (gateway) => [
      compareMemory('60 compressed bodies at once', await burst(gateway)),
      compareMemory('400 uploads of 1 MiB that stall', await stalledUploads(gateway)),
      compareMemory('64 answers of 8 MB that are not read', await unreadAnswers(gateway)),
    ])
    context.progress('facilitator')
    const facilitator = await inScope(context, 'facilitator', attackFacilitator)
    return {
      comparisons: [
        compareCosts(costs),
        compareCallers('rate limits of a million calls a minute', wide),
        compareCallers('the default rate limits', usual),
        ...memory,
        ...compareFacilitator(facilitator),
      ],
      charts: [costChart(costs)],
    }
  },
}

function withGateway<Result>(
  context: BenchmarkContext,
  name: string,
  limits: Readonly<Record<string, string>>,
  use: (gateway: Gateway) => Promise<Result>,
): Promise<Result> {
  context.progress(name)
  return inScope(context, name.replaceAll(' ', '-'), async (place) => use(await openGateway(place, limits)))
}
