/** `monotonicMs` goes on while the process is stopped; `wallMs` goes on while the machine is suspended, and may step. */
export type Clocks = { monotonicMs: () => number; wallMs: () => number }

export const systemClocks: Clocks = { monotonicMs: () => performance.now(), wallMs: () => Date.now() }

/** Returns how many milliseconds have passed since, by the clock that says more; a wall clock that was set back counts as well. */
export function startStopwatch({ monotonicMs, wallMs }: Clocks): () => number {
  const [monotonic, wall] = [monotonicMs(), wallMs()]
  return () => Math.max(monotonicMs() - monotonic, Math.abs(wallMs() - wall))
}
