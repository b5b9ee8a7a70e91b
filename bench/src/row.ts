import { type Comparison } from './benchmark'
import { type Machine } from './machine'

/** What the rows of one run have in common. */
export type Run = {
  machine: Machine
  versions: Record<string, string>
  command: string
  commit: string
  /** `2026-11-24`. */
  date: string
}

/** A comparison as docs/benchmarks.json has it. */
export type Row = Omit<Comparison, 'reach'> & Run & { benchmark: string; reach: string; met: boolean | null }

export type ChartFile = { benchmark: string; file: string; title: string }
