import { type Bar, type Chart, type Comparison, type Reach } from '../../benchmark'
import { type Load } from '../../load/load'
import { medianOf } from '../../rounds'

/** Without the peers that are not installed. */
export type Samples = { tollgate: Load[] } & Partial<Record<PeerName, Load[]>>
type PeerName = keyof typeof peers

const peers = {
  bare: { name: 'bare proxy', against: 'bare Express and undici proxy', reach: { atLeast: 0.6 } },
  nginx: { name: 'nginx', against: 'nginx', reach: { atLeast: 0.2 } },
  erpc: { name: 'eRPC', against: 'eRPC, without cache', reach: { atLeast: 1.5 } },
  conventional: {
    name: 'conventional stack',
    against: 'Express, jsonwebtoken, Prisma and axios',
    reach: { atLeast: 10 },
  },
} satisfies Record<string, { name: string; against: string; reach: Reach }>
const peerNames = Object.keys(peers) as PeerName[]

const MEASURED = 'paid POST /rpc, 64 connections'

const rateOf = (loads: readonly Load[]) => medianOf(loads, ({ callsPerSecond }) => callsPerSecond)
const cpuOf = (loads: readonly Load[]) => medianOf(loads, ({ cpuSeconds }) => cpuSeconds)

export function compareRates(samples: Samples, missing: string | undefined): Comparison[] {
  const own = ownFigures(samples.tollgate)
  return peerNames.map((peer) => {
    const { name, against, reach } = peers[peer]
    const loads = samples[peer]
    const measured = `${MEASURED}, calls per second`
    if (!loads) return withoutPeer({ measured, against, reach }, missing)
    const ratio = rateOf(samples.tollgate) / rateOf(loads)
    return { measured, against, ratio, reach, figures: { ...own, ...peerFigures(name, loads) } }
  })
}

export function compareCpu(samples: Samples, missing: string | undefined): Comparison {
  const measured = `${MEASURED}, CPU of the gateway process for 1,000 calls`
  const { against } = peers.erpc
  const reach = { below: 1 }
  const loads = samples.erpc
  if (!loads) return withoutPeer({ measured, against, reach }, missing)
  const ratio = cpuOf(samples.tollgate) / cpuOf(loads)
  const figures = { ...ownFigures(samples.tollgate), ...peerFigures(peers.erpc.name, loads) }
  return { measured, against, ratio, reach, figures }
}

const withoutPeer = (
  parts: Pick<Comparison, 'measured' | 'against' | 'reach'>,
  note = 'not installed',
): Comparison => ({ ...parts, ratio: null, figures: {}, note })

const ownFigures = (loads: readonly Load[]) => ({
  'tollgate calls/s': rounded(rateOf(loads)),
  'tollgate p99 ms': rounded(medianOf(loads, ({ p99Ms }) => p99Ms)),
  'tollgate gateway CPU s per 1,000 calls': rounded(cpuOf(loads)),
  'tollgate Postgres CPU s per 1,000 calls': rounded(
    medianOf(loads, ({ others }) => others['postgres'] ?? 0),
  ),
  'tollgate Redis CPU s per 1,000 calls': rounded(medianOf(loads, ({ others }) => others['redis'] ?? 0)),
  'tollgate WAL bytes per call': rounded(medianOf(loads, ({ costs }) => costs['walBytes'] ?? 0)),
  'tollgate Redis commands per call': rounded(medianOf(loads, ({ costs }) => costs['redisCommands'] ?? 0)),
})

function peerFigures(name: string, loads: readonly Load[]): Record<string, number> {
  const figures = {
    [`${name} calls/s`]: rounded(rateOf(loads)),
    [`${name} p99 ms`]: rounded(medianOf(loads, ({ p99Ms }) => p99Ms)),
    [`${name} CPU s per 1,000 calls`]: rounded(cpuOf(loads)),
  }
  if (name !== peers.conventional.name) return figures
  const postgres = medianOf(loads, ({ others }) => others['postgres'] ?? 0)
  return { ...figures, [`${name} Postgres CPU s per 1,000 calls`]: rounded(postgres) }
}

export const rateChart = (samples: Samples): Chart => ({
  name: 'rate',
  title: `Paid calls, and what only forwards, over 64 connections`,
  unit: 'calls per second',
  bars: bars(samples, rateOf),
})

export const cpuChart = (samples: Samples): Chart => ({
  name: 'cpu',
  title: 'CPU of the gateway process, or of its peer',
  unit: 'CPU seconds per 1,000 calls',
  bars: bars(samples, cpuOf),
})

function bars(samples: Samples, figure: (loads: readonly Load[]) => number): Bar[] {
  const own = { label: 'Tollgate (paid)', value: rounded(figure(samples.tollgate)), own: true }
  const others = peerNames.flatMap((peer) => {
    const loads = samples[peer]
    return loads ? [{ label: peers[peer].name, value: rounded(figure(loads)) }] : []
  })
  return [own, ...others]
}

const rounded = (value: number) => Number(value.toPrecision(4))
