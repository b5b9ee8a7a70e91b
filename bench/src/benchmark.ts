/** One bound of a ratio. */
export type Reach = { atLeast: number } | { atMost: number } | { below: number }

export type Comparison = {
  /** For example "paid POST /rpc, 64 connections, calls per second". */
  measured: string
  /** For example "bare Express and undici proxy". */
  against: string
  /** Null if the peer is not installed: `note` names it. */
  ratio: number | null
  reach: Reach
  /** The medians, with their units in the names: `{ 'tollgate calls/s': 9800, 'bare proxy calls/s': 16000 }`. */
  figures: Record<string, number | string>
  note?: string
}

export type Bar = { label: string; value: number; own?: boolean }

/** `name` is unique within the benchmark, in kebab case. */
export type Chart = { name: string; title: string; unit: string; bars: Bar[] }

export type BenchmarkContext = {
  rounds: number
  /** Calls in the long history of the benchmark `history`. */
  historyRows: number
  /** Load of the benchmark `memory`. */
  memoryMinutes: number
  /** Temporary; removed after the benchmark. */
  folder: string
  /** Called in reverse order when the benchmark ends or is interrupted. */
  closeLater: (close: () => unknown) => void
  progress: (line: string) => void
}

export type Outcome = { comparisons: Comparison[]; charts: Chart[]; versions?: Record<string, string> }

export type Benchmark = {
  /** Kebab case: the argument of `pnpm bench`. */
  name: string
  title: string
  run: (context: BenchmarkContext) => Promise<Outcome>
}
