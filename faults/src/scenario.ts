export type Stage = {
  rounds: number
  parts?: readonly string[]
  /** The version before this one: a commit, or the root of a built checkout. */
  from?: string
  /** Aborted when the run is interrupted. */
  signal: AbortSignal
  closeLater: (close: () => unknown) => void
  say: (line: string) => void
}

export type Row = {
  /** Unique within the scenario. */
  fault: string
  /** The component that fails: "facilitator", "gateway", "chain", "RPC node", "Postgres", "Redis", "clock", "clients". */
  where: string
  times: number
  /** Payments in flight at the faults, in total. */
  payments: number
  outcome: string
  /** For example "80 transfers, 80 successes". */
  counted: string
  /** The longest recovery; absent if nothing has to recover. */
  worstSeconds?: number
}

export type Result = { problems: string[]; rows: Row[] }

export type Scenario = {
  name: string
  help: string
  /** The default of `--rounds`. */
  rounds: number
  /** Left out of a run of all without `--from`. */
  needsVersion?: boolean
  /** Can run alone: `pnpm faults NAME/PART`. */
  parts?: readonly string[]
  run(stage: Stage): Promise<Result>
}
