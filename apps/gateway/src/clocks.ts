/** `monotonicMs` advances while the process is stopped; `wallMs` also while the machine is suspended, and it can step. */
export type Clocks = { monotonicMs: () => number; wallMs: () => number }

export const systemClocks: Clocks = { monotonicMs: () => performance.now(), wallMs: () => Date.now() }

/** Measures elapsed milliseconds by the clock that shows more; a wall clock set back counts too. */
export function startStopwatch({ monotonicMs, wallMs }: Clocks): () => number {
  const [monotonic, wall] = [monotonicMs(), wallMs()]
  return () => Math.max(monotonicMs() - monotonic, Math.abs(wallMs() - wall))
}
