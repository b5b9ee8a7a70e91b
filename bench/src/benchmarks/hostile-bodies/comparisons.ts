import { type Chart, type Comparison } from '../../benchmark'
import { type BodyCost } from './event-loop'
import { type FacilitatorResult } from './facilitator'
import { type MemoryResult } from './memory'
import { type Beside } from './paying-callers'

/** Of the event loop, for one body. */
const BOUND_MS = 15
/** docs/threats.md: the p99 of others at most doubles. */
const BOUND_OF_LATENCY = 2
const BOUND_OF_MEMORY = 2

export function compareCosts(costs: readonly BodyCost[]): Comparison {
  const worst = costs.reduce((one, other) => (other.leastMs > one.leastMs ? other : one))
  const figures = costs.map(
    ({ name, leastMs, status }) => [`event loop ms, ${name} (answered ${status})`, tenth(leastMs)] as const,
  )
  return {
    measured: 'event loop time of the most expensive body',
    against: `${BOUND_MS} ms`,
    ratio: worst.leastMs / BOUND_MS,
    reach: { atMost: 1 },
    figures: Object.fromEntries(figures),
    note: worst.name,
  }
}

export const costChart = (costs: readonly BodyCost[]): Chart => ({
  name: 'event-loop',
  title: `One body, at most ${BOUND_MS} ms`,
  unit: 'milliseconds of the event loop',
  bars: costs
    .toSorted((one, other) => other.leastMs - one.leastMs)
    .map(({ name, leastMs }) => ({ label: name, value: tenth(leastMs), own: true })),
})

export function compareCallers(limits: string, { alone, beside, p99Ratio, ...attack }: Beside): Comparison {
  return {
    measured: `p99 of ten paying callers beside hostile bodies, with ${limits}`,
    against: 'the same callers alone',
    ratio: p99Ratio,
    reach: { atMost: BOUND_OF_LATENCY },
    figures: {
      [`p50 alone, ms, with ${limits}`]: tenth(alone.p50),
      [`p50 beside hostile bodies, ms, with ${limits}`]: tenth(beside.p50),
      [`p99 alone, ms, with ${limits}`]: tenth(alone.p99),
      [`p99 beside hostile bodies, ms, with ${limits}`]: tenth(beside.p99),
      [`hostile bodies sent, MB/s, with ${limits}`]: tenth(attack.megabytesPerSecond),
      [`their answers, with ${limits}`]: attack.statuses,
    },
  }
}

export function compareMemory(attack: string, result: MemoryResult): Comparison {
  return {
    measured: `gateway memory under ${attack}`,
    against: 'its memory before',
    ratio: result.duringBytes / result.beforeBytes,
    reach: { atMost: BOUND_OF_MEMORY },
    figures: {
      [`MB before ${attack}`]: megabytes(result.beforeBytes),
      [`MB under ${attack}`]: megabytes(result.duringBytes),
      [`ms of another wallet's calls under ${attack}`]: Math.round(result.othersMs),
      [`their answers under ${attack}`]: result.othersStatuses.join(', '),
    },
  }
}

export function compareFacilitator(result: FacilitatorResult): Comparison[] {
  return [
    {
      measured: 'facilitator memory under 1,200 uploads of 256 KiB that stall',
      against: 'its memory before',
      ratio: result.duringBytes / result.beforeBytes,
      reach: { atMost: BOUND_OF_MEMORY },
      figures: {
        'facilitator MB before stalled uploads': megabytes(result.beforeBytes),
        'facilitator MB under stalled uploads': megabytes(result.duringBytes),
      },
    },
    {
      measured: 'median of /verify beside 45 compressed bodies a second',
      against: 'the same requests alone',
      ratio: result.besideMs / result.aloneMs,
      reach: { atMost: BOUND_OF_LATENCY },
      figures: {
        '/verify alone, median ms': tenth(result.aloneMs),
        '/verify beside compressed bodies, median ms': tenth(result.besideMs),
      },
    },
  ]
}

const tenth = (value: number) => Math.round(10 * value) / 10
const megabytes = (bytes: number) => Math.round(bytes / 1e6)
