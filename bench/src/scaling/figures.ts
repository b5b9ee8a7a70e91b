import { type Row } from '../row'
import { inputs } from './inputs'
import { type PerCall } from './model'

const PAID_CALLS = 'paid-calls'
const REPLICAS = 'replicas'

/** Names of figures in the rows of `paid-calls`. */
const names = {
  gatewayCpu: 'tollgate gateway CPU s per 1,000 calls',
  postgresCpu: 'tollgate Postgres CPU s per 1,000 calls',
  redisCpu: 'tollgate Redis CPU s per 1,000 calls',
  wal: 'tollgate WAL bytes per call',
  commands: 'tollgate Redis commands per call',
}
const rates = [
  [1, 'one gateway calls/s'],
  [2, 'two gateways calls/s'],
  [4, 'four gateways calls/s'],
] as const
/** In `replicas`, optional: of the load generator, the upstream and nginx. */
const OTHER_CPU = 'other CPU s per 1,000 calls'

type Measured = { gateways: number; callsPerSecond: number }
export type Replicas = { cores: number; otherCpuSeconds: number; rates: Measured[] }

/** The figures for one paid call, or the names of those that are missing. */
export function perCallOf(rows: readonly Row[]): PerCall | { missing: string[] } {
  const find = finderOf(rows, PAID_CALLS)
  const missing = Object.values(names).filter((name) => find(name) === undefined)
  if (missing.length > 0) return { missing }
  const get = (name: string) => find(name) ?? Number.NaN
  return {
    gatewayCpuSeconds: get(names.gatewayCpu) / 1000,
    postgresCpuSeconds: get(names.postgresCpu) / 1000,
    redisCpuSeconds: get(names.redisCpu) / 1000,
    walBytes: get(names.wal),
    redisCommands: get(names.commands),
  }
}

/** The rates that the model is checked against. */
export function replicasOf(rows: readonly Row[]): Replicas | { missing: string[] } {
  const find = finderOf(rows, REPLICAS)
  const found = rates.flatMap(([gateways, name]) => {
    const callsPerSecond = find(name)
    return callsPerSecond === undefined ? [] : [{ gateways, callsPerSecond }]
  })
  const other = find(OTHER_CPU)
  const cores = rows.find(({ benchmark }) => benchmark === REPLICAS)?.machine.cores
  if (cores === undefined || found.length === 0) return { missing: rates.map(([, name]) => name) }
  return { cores, otherCpuSeconds: other === undefined ? inputs.otherCpuSeconds : other / 1000, rates: found }
}

const finderOf =
  (rows: readonly Row[], benchmark: string) =>
  (name: string): number | undefined => {
    const values = rows.filter((row) => row.benchmark === benchmark).map(({ figures }) => figures[name])
    return values.find((value) => typeof value === 'number')
  }
