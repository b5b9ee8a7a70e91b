/** One kind of fault: what it does is read in its `help`. */
export type Scenario = {
  name: string
  help: string
  /** Answers what did not hold. */
  run(stage: {
    rounds: number
    /** Aborted where nobody wants to know any more. */
    signal: AbortSignal
    /** Called in the end, last first, however the run ended. */
    closeLater: (close: () => unknown) => void
    say: (line: string) => void
  }): Promise<string[]>
}
