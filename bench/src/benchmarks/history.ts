import { type UsagePage } from '@tollgate/protocol'
import { fillHistory, PLANS, WALLET } from '../usage-rows'
import { type Benchmark, type BenchmarkContext, type Comparison } from '../benchmark'
import { openAccounts } from '../gateway/accounts'
import { openGatewayClient } from '../gateway/client'
import { startGateway } from '../gateway/gateway'
import { runLanes, type LaneResult } from '../lanes'
import { interleave, medianOf } from '../rounds'
import { openStores } from '../stores'

const FEW_ROWS = 10_000
const REQUESTS = 200
/** Of page 1,000 at ten rows a page. */
const OFFSET = 9_990

type Size = 'large' | 'small'

/** Of one wallet; `lastOfPage999` is an id for `before`. */
const pagesOf = (lastOfPage999: number) => ({
  'GET /history page 1': `/history/${WALLET}?limit=10`,
  'GET /history page 1,000 by offset': `/history/${WALLET}?limit=10&offset=${OFFSET}`,
  'GET /history page 1,000 by before': `/history/${WALLET}?limit=10&before=${lastOfPage999}`,
  'GET /history of one plan, page 1': `/history/${WALLET}?limit=10&plan_id=1`,
  'GET /credits': `/credits/${WALLET}`,
})
type Page = keyof ReturnType<typeof pagesOf>

const describe = ({ p50Ms, p99Ms }: LaneResult) => `p50 ${p50Ms.toFixed(2)} ms, p99 ${p99Ms.toFixed(2)} ms`

/** A gateway on a database with `rows` calls of one wallet, and requests for its pages over one connection. */
async function openHistory(
  context: BenchmarkContext,
  { postgres, redis }: Awaited<ReturnType<typeof openStores>>,
  { size, rows }: { size: Size; rows: number },
) {
  const { databaseUrl } = await openAccounts(context, { postgres, name: `gateway_${size}`, plans: PLANS })
  await fillHistory(databaseUrl, rows, context.progress)
  const stores = { databaseUrl, redisUrl: redis.url }
  const server = await startGateway(context, stores, { name: `gateway-${size}` })
  const api = openGatewayClient(server, context, { connections: 1 })
  const calls = await api.get<UsagePage>(`/history/${WALLET}?limit=1&offset=${OFFSET - 1}`)
  const pages = pagesOf(calls.data[0]?.id ?? 0)
  return (page: Page) => {
    let remaining = REQUESTS
    return runLanes(1, async () => {
      if (remaining-- === 0) return false
      await api.get(pages[page])
      return true
    })
  }
}

export const history: Benchmark = {
  name: 'history',
  title: 'Pages of a long history',
  async run(context) {
    const stores = await openStores(context)
    const small = await openHistory(context, stores, { size: 'small', rows: FEW_ROWS })
    const large = await openHistory(context, stores, { size: 'large', rows: context.historyRows })
    const comparisons: Comparison[] = []
    for (const page of Object.keys(pagesOf(0)) as Page[]) {
      const run = { large: () => large(page), small: () => small(page) }
      await run.large()
      await run.small()
      context.progress(page)
      comparisons.push(compare(page, context.historyRows, await interleave(context, run, describe)))
    }
    const bars = comparisons.flatMap(({ figures }) =>
      Object.entries(figures)
        .filter(([figure]) => figure.endsWith('p50 ms'))
        .map(([figure, value]) => ({
          label: figure.replace(/^GET |, p50 ms$/g, ''),
          value: Number(value),
          own: true,
        })),
    )
    return { comparisons, charts: [{ name: 'pages', title: 'Pages of a long history', unit: 'ms', bars }] }
  },
}

const thousands = (count: number) => count.toLocaleString('en')

function compare(
  page: Page,
  rows: number,
  { large, small }: Record<Size, readonly LaneResult[]>,
): Comparison {
  const p50Ms = (samples: readonly LaneResult[]) => medianOf(samples, (sample) => sample.p50Ms)
  const p99Ms = (samples: readonly LaneResult[]) => medianOf(samples, (sample) => sample.p99Ms)
  return {
    measured: `${page}, ${thousands(rows)} calls, median latency`,
    against: `${thousands(FEW_ROWS)} calls`,
    ratio: p50Ms(large) / p50Ms(small),
    reach: { atMost: 2 },
    figures: {
      [`${page}, ${thousands(rows)} calls, p50 ms`]: p50Ms(large),
      [`${page}, ${thousands(rows)} calls, p99 ms`]: p99Ms(large),
      [`${page}, ${thousands(FEW_ROWS)} calls, p50 ms`]: p50Ms(small),
      [`${page}, ${thousands(FEW_ROWS)} calls, p99 ms`]: p99Ms(small),
    },
  }
}
