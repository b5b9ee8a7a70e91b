/** What a scenario is given to work with. */
export type Stage = {
  rounds: number
  /** Those that are to be played, of a scenario that has some; all where it is absent. */
  parts?: readonly string[]
  /** Aborted where nobody wants to know any more. */
  signal: AbortSignal
  /** Called in the end, last first, however the run ended. */
  closeLater: (close: () => unknown) => void
  say: (line: string) => void
}

/** What the report says of one fault. */
export type Row = {
  /** What was done, in words; no other row of the scenario has the same. */
  fault: string
  /** Which part it was done to: "facilitator", "gateway", "chain", "RPC node", "Postgres", "Redis", "clock", "clients". */
  where: string
  /** How often it was done. */
  times: number
  /** Payments that were under way then, all times together. */
  payments: number
  /** What became of them, in words. */
  outcome: string
  /** What was counted and checked, as it was found: "80 transfers, 80 successes". */
  counted: string
  /** The longest time until all was in order again; absent where nothing has to recover. */
  worstSeconds?: number
}

/** What did not hold, and what was found. */
export type Result = { problems: string[]; rows: Row[] }

/** Faults of one kind: what it does is read in its `help`. */
export type Scenario = {
  name: string
  help: string
  /** How often each fault is made unless the command line says otherwise. */
  rounds: number
  /** What of it can be asked for alone: `pnpm faults NAME/PART`. */
  parts?: readonly string[]
  run(stage: Stage): Promise<Result>
}
